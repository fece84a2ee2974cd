// The device's memory: a caching allocator with a pool for each graph token, and pinned memory on the host.
#pragma once

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>

namespace hostmem {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;

void check_device(std::optional<c10::Device> device);

// Memory that belongs to no graph.
constexpr c10::MempoolId_t kCommonPool{0, 0};

c10::DeviceAllocator* device_allocator();
at::HostAllocator* pinned_allocator();
bool is_pinned(const void* pointer);

// Gives `storage` other memory, with the same contents as far as they fit.
void resize_storage(const c10::Storage& storage, size_t bytes);

// A pool lives as long as some graph retains it.
void retain_pool(c10::MempoolId_t pool);
void release_pool(c10::MempoolId_t pool);

}  // namespace hostmem
