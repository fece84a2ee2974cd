#include "memory.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include <torch/library.h>
#include <unistd.h>

#include "runtime.h"

namespace hostmem {
namespace {

constexpr size_t kGranularity = 512;
constexpr int kPoison = 0xFF;  // NaN as a floating point number, -1 as an integer

void* allocate_from_system(size_t bytes) {
  void* pointer = nullptr;
  TORCH_CHECK(posix_memalign(&pointer, kGranularity, bytes) == 0, "out of memory: ", bytes, " bytes were asked for");
  return pointer;
}

struct Block {
  size_t size;
  StreamId stream;  // the one whose work may use the block again: nothing orders another one behind it
  c10::MempoolId_t pool;
  bool in_use;
};

class CachingAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const c10::Device device(kDevice, 0);
    if (bytes == 0) {
      return {nullptr, device};
    }
    auto capture = capture_of(current_stream());
    const size_t rounded = (bytes + kGranularity - 1) / kGranularity * kGranularity;
    void* pointer = take(rounded, capture ? capture->pool : kCommonPool);
    if (capture) {
      // Whoever reads an output before the first replay, or relies on what a replay does not write, shall notice.
      std::memset(pointer, kPoison, bytes);
    }
    return {pointer, pointer, raw_deleter(), device};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* pointer) { static_cast<CachingAllocator*>(device_allocator())->give_back(pointer); };
  }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  bool initialized() override {
    return true;
  }

  void emptyCache(c10::MempoolId_t pool) override {
    std::lock_guard lock(mutex_);
    for (auto block = blocks_.begin(); block != blocks_.end();) {
      const bool spare = !block->second.in_use && block->second.pool == pool && users_.count(pool) == 0;
      block = spare ? free_block(block) : std::next(block);
    }
  }

  // Work is done when it is submitted, so memory that is given back has no work left that uses it.
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void resetAccumulatedStats(c10::DeviceIndex) override {
    std::lock_guard lock(mutex_);
    stats_.allocated_bytes[0].reset_accumulated();
    stats_.reserved_bytes[0].reset_accumulated();
  }

  void resetPeakStats(c10::DeviceIndex) override {
    std::lock_guard lock(mutex_);
    stats_.allocated_bytes[0].reset_peak();
    stats_.reserved_bytes[0].reset_peak();
  }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    const size_t page = sysconf(_SC_PAGESIZE);
    return {page * sysconf(_SC_AVPHYS_PAGES), page * sysconf(_SC_PHYS_PAGES)};
  }

  void retain(c10::MempoolId_t pool) {
    std::lock_guard lock(mutex_);
    ++users_[pool];
  }

  void release(c10::MempoolId_t pool) {
    std::lock_guard lock(mutex_);
    if (--users_.at(pool) > 0) {
      return;
    }
    users_.erase(pool);
    for (auto& [pointer, block] : blocks_) {
      if (block.pool == pool) {
        block.pool = kCommonPool;
        spare_.erase(key(pool, block, pointer));
        if (!block.in_use) {
          spare_.insert(key(kCommonPool, block, pointer));
        }
      }
    }
  }

  // A row of address, size and pool for each block.
  std::vector<std::vector<int64_t>> snapshot() {
    std::lock_guard lock(mutex_);
    std::vector<std::vector<int64_t>> rows;
    for (const auto& [pointer, block] : blocks_) {
      rows.push_back({reinterpret_cast<int64_t>(pointer), static_cast<int64_t>(block.size),
                      static_cast<int64_t>(block.pool.first), static_cast<int64_t>(block.pool.second)});
    }
    return rows;
  }

 private:
  using Blocks = std::map<void*, Block>;
  using Key = std::tuple<c10::MempoolId_t, StreamId, size_t, void*>;

  static Key key(c10::MempoolId_t pool, const Block& block, void* pointer) {
    return {pool, block.stream, block.size, pointer};
  }

  void* take(size_t bytes, c10::MempoolId_t pool) {
    std::lock_guard lock(mutex_);
    const StreamId stream = current_stream();
    auto best = spare_.lower_bound({pool, stream, bytes, nullptr});
    const bool fits = best != spare_.end() && std::get<0>(*best) == pool && std::get<1>(*best) == stream &&
        std::get<2>(*best) <= 2 * bytes;
    void* pointer = fits ? std::get<3>(*best) : allocate_from_system(bytes);
    if (fits) {
      spare_.erase(best);
    } else {
      blocks_[pointer] = {bytes, stream, pool, false};
      stats_.reserved_bytes[0].increase(bytes);
    }
    Block& block = blocks_.at(pointer);
    block.in_use = true;
    stats_.allocated_bytes[0].increase(block.size);
    return pointer;
  }

  void give_back(void* pointer) {
    std::lock_guard lock(mutex_);
    Block& block = blocks_.at(pointer);
    block.in_use = false;
    spare_.insert(key(block.pool, block, pointer));
    stats_.allocated_bytes[0].decrease(block.size);
  }

  Blocks::iterator free_block(Blocks::iterator found) {
    const auto& [pointer, block] = *found;
    spare_.erase(key(block.pool, block, pointer));
    stats_.reserved_bytes[0].decrease(block.size);
    std::free(pointer);
    return blocks_.erase(found);
  }

  std::mutex mutex_;
  Blocks blocks_;
  std::set<Key> spare_;
  std::map<c10::MempoolId_t, int> users_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
};

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* pointer = allocate_from_system(std::max(bytes, kGranularity));
    std::lock_guard lock(mutex_);
    sizes_[pointer] = bytes;
    return {pointer, pointer, raw_deleter(), at::kCPU};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return [](void* pointer) { static_cast<PinnedAllocator*>(pinned_allocator())->give_back(pointer); };
  }

  bool contains(const void* pointer) {
    std::lock_guard lock(mutex_);
    auto next = sizes_.upper_bound(pointer);
    if (next == sizes_.begin()) {
      return false;
    }
    const auto& [start, bytes] = *std::prev(next);
    return pointer < static_cast<const char*>(start) + bytes;
  }

  void copy_data(void* to, const void* from, size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  // Nothing is cached, no work is left behind, and nobody asks for statistics.
  bool record_event(void*, void*, c10::Stream) override {
    return true;
  }
  void empty_cache() override {}
  at::HostStats get_stats() override {
    return {};
  }
  void reset_accumulated_stats() override {}
  void reset_peak_stats() override {}

 private:
  void give_back(void* pointer) {
    std::lock_guard lock(mutex_);
    sizes_.erase(pointer);
    std::free(pointer);
  }

  std::mutex mutex_;
  std::map<const void*, size_t> sizes_;
};

// Never destroyed: tensors may outlive every static object.
CachingAllocator& device_memory() {
  static auto* allocator = new CachingAllocator;
  return *allocator;
}

PinnedAllocator& pinned_memory() {
  static auto* allocator = new PinnedAllocator;
  return *allocator;
}

// torch.accelerator.empty_cache() and empty_host_cache(), which the context manager of a graph calls, need both.
REGISTER_ALLOCATOR(kDevice, &device_memory());
REGISTER_HOST_ALLOCATOR(kDevice, &pinned_memory());

// A raw allocation, the kind of call that capture modes forbid.
int64_t raw_allocate(int64_t bytes) {
  check_unsafe("a raw allocation");
  return reinterpret_cast<int64_t>(allocate_from_system(bytes));
}

void raw_free(int64_t address) {
  std::free(reinterpret_cast<void*>(address));
}

TORCH_LIBRARY_FRAGMENT(hostmem, library) {
  library.def("memory_snapshot() -> int[][]", [] { return device_memory().snapshot(); });
  library.def("raw_allocate(int bytes) -> int", &raw_allocate);
  library.def("raw_free(int address) -> ()", &raw_free);
}

}  // namespace

void check_device(std::optional<c10::Device> device) {
  TORCH_CHECK(!device || device->index() <= 0, "there is one device, with index 0");
}

c10::DeviceAllocator* device_allocator() {
  return &device_memory();
}

at::HostAllocator* pinned_allocator() {
  return &pinned_memory();
}

bool is_pinned(const void* pointer) {
  return pinned_memory().contains(pointer);
}

void resize_storage(const c10::Storage& storage, size_t bytes) {
  auto fresh = device_memory().allocate(bytes);
  const size_t kept = std::min(bytes, storage.nbytes());
  if (kept > 0) {
    // Work like any other: a capture records it.
    submit("resize", [to = fresh.get(), from = storage.data(), kept] { std::memcpy(to, from, kept); });
  }
  storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(fresh));
  storage.unsafeGetStorageImpl()->set_nbytes(bytes);
}

void retain_pool(c10::MempoolId_t pool) {
  device_memory().retain(pool);
}

void release_pool(c10::MempoolId_t pool) {
  device_memory().release(pool);
}

}  // namespace hostmem
