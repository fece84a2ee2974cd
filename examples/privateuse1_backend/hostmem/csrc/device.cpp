// What torch asks of a device: the guard with its streams and events, and the hooks.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "memory.h"
#include "runtime.h"

namespace hostmem {
namespace {

const c10::Device kOnlyDevice(kDevice, 0);

c10::Stream as_torch_stream(StreamId stream) {
  return c10::Stream(c10::Stream::UNSAFE, kOnlyDevice, stream);
}

Event& as_event(void* event) {
  return *static_cast<Event*>(event);
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override {
    return kDevice;
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return 1;
  }
  c10::Device getDevice() const override {
    return kOnlyDevice;
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    setDevice(device);
    return kOnlyDevice;
  }
  void setDevice(c10::Device device) const override {
    check_device(device);
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}

  c10::Stream getStream(c10::Device) const override {
    return as_torch_stream(current_stream());
  }
  c10::Stream getDefaultStream(c10::Device) const override {
    return as_torch_stream(kDefaultStream);
  }
  c10::Stream getNewStream(c10::Device, int /*priority*/) const override {
    return as_torch_stream(new_stream());
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool /*is_high_priority*/) const override {
    return as_torch_stream(new_stream());
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return as_torch_stream(exchange_stream(stream.id()));
  }
  bool queryStream(const c10::Stream& stream) const override {
    synchronizeStream(stream);
    return true;
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    synchronize_stream(stream.id());
  }
  void synchronizeDevice(c10::DeviceIndex) const override {
    synchronize_device();
  }
  // The default of this method is false, which is a wrong answer that nobody notices.
  bool isStreamCapturing(const c10::Stream& stream) const override {
    return capture_of(stream.id()) != nullptr;
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new Event;
    }
    hostmem::record(as_event(*event), stream.id());
  }
  void block(void* event, const c10::Stream& stream) const override {
    hostmem::wait(as_event(event), stream.id());
  }
  bool queryEvent(void* event) const override {
    synchronizeEvent(event);
    return true;
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) {
      check_query(as_event(event));
    }
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }
  double elapsedTime(void* begin, void* end, c10::DeviceIndex) const override {
    return std::chrono::duration<double, std::milli>(as_event(end).time - as_event(begin).time).count();
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }
  c10::DeviceIndex deviceCount() const override {
    return 1;
  }
  c10::DeviceIndex getCurrentDevice() const override {
    return 0;
  }
  void setCurrentDevice(c10::DeviceIndex index) const override {
    check_device(c10::Device(kDevice, index));
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex index) const override {
    setCurrentDevice(index);
    return 0;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
    return exchangeDevice(index);
  }

  at::Allocator* getPinnedMemoryAllocator() const override {
    return pinned_allocator();
  }
  bool isPinnedPtr(const void* pointer) const override {
    return is_pinned(pointer);
  }

  // The device has no random numbers of its own: kernels draw from the host's generator when they run.
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::detail::createCPUGenerator();
  }

  // What untyped_storage().resize_() asks for.
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    resize_storage(storage, bytes);
  }
};

const bool registered = [] {
  static auto* hooks = new Hooks;
  at::RegisterPrivateUse1HooksInterface(hooks);
  return true;
}();

}  // namespace
}  // namespace hostmem
