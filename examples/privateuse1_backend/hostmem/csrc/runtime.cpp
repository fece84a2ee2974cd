#include "runtime.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include <c10/util/Exception.h>

namespace hostmem {
namespace {

std::mutex mutex;  // of `captures` and of what they hold
std::unordered_map<StreamId, std::shared_ptr<Capture>> captures;
std::atomic<StreamId> streams{kDefaultStream};
thread_local StreamId current = kDefaultStream;

std::shared_ptr<Capture> find(StreamId stream) {
  auto found = captures.find(stream);
  return found == captures.end() ? nullptr : found->second;
}

void release_streams(const std::shared_ptr<Capture>& capture) {
  for (const auto& [stream, tail] : capture->tails) {
    captures.erase(stream);
  }
}

bool underway(const std::shared_ptr<Capture>& capture) {
  return capture && find(capture->origin) == capture;
}

// Whether every piece of work comes before the end of the stream that the capture began on.
bool is_joined(const Capture& capture) {
  std::set<size_t> ends;
  for (size_t number = 0; number < capture.nodes.size(); ++number) {
    for (size_t earlier : capture.nodes[number].after) {
      ends.erase(earlier);
    }
    ends.insert(number);
  }
  const auto& tail = capture.tails.at(capture.origin);
  return std::includes(tail.begin(), tail.end(), ends.begin(), ends.end());
}

}  // namespace

StreamId new_stream() {
  return ++streams;
}

StreamId current_stream() {
  return current;
}

StreamId exchange_stream(StreamId stream) {
  return std::exchange(current, stream);
}

void record(Event& event, StreamId stream) {
  std::lock_guard lock(mutex);
  auto capture = find(stream);
  event = {capture, capture ? capture->tails.at(stream) : std::set<size_t>{}, std::chrono::steady_clock::now()};
}

void wait(const Event& event, StreamId stream) {
  std::lock_guard lock(mutex);
  auto capture = event.capture.lock();
  if (!underway(capture)) {
    return;  // the work that it stands for is done
  }
  TORCH_CHECK(stream != kDefaultStream, "the default stream cannot take part in a capture");
  auto own = find(stream);
  TORCH_CHECK(!own || own == capture, "a stream that is capturing cannot wait for an event of another capture");
  captures[stream] = capture;
  capture->tails[stream].insert(event.nodes.begin(), event.nodes.end());
}

void check_query(const Event& event) {
  std::lock_guard lock(mutex);
  TORCH_CHECK(!underway(event.capture.lock()),
              "an event of a stream that is capturing cannot be queried or waited for until the capture has ended");
}

void submit(std::string name, std::function<void()> work) {
  {
    std::lock_guard lock(mutex);
    if (auto capture = find(current)) {
      auto& tail = capture->tails.at(current);
      capture->nodes.push_back({std::move(name), std::move(work), tail});
      tail = {capture->nodes.size() - 1};
      return;
    }
  }
  work();
}

std::shared_ptr<Capture> capture_of(StreamId stream) {
  std::lock_guard lock(mutex);
  return find(stream);
}

bool is_capturing() {
  return capture_of(current) != nullptr;
}

std::shared_ptr<Capture> begin_capture(Mode mode, PoolId pool) {
  std::lock_guard lock(mutex);
  TORCH_CHECK(current != kDefaultStream, "a capture cannot begin on the default stream; make another one current");
  TORCH_CHECK(!find(current), "a capture cannot begin on a stream that is capturing already");
  auto capture = std::make_shared<Capture>(Capture{current, mode, pool});
  capture->tails[current] = {};
  captures[current] = capture;
  return capture;
}

Nodes end_capture(const std::shared_ptr<Capture>& capture) {
  std::lock_guard lock(mutex);
  TORCH_CHECK(current == capture->origin, "a capture must end on the stream that it began on");
  release_streams(capture);
  TORCH_CHECK(is_joined(*capture), "the capture failed: work was forked to another stream and not joined again");
  return std::move(capture->nodes);
}

void abandon_capture(const std::shared_ptr<Capture>& capture) {
  std::lock_guard lock(mutex);
  release_streams(capture);
}

void synchronize_stream(StreamId stream) {
  TORCH_CHECK(!capture_of(stream), "a stream cannot be waited for while it is capturing");
}

void synchronize_device() {
  TORCH_CHECK(!is_capturing(), "the device cannot be waited for while the current stream is capturing");
  check_unsafe("waiting for the device");
}

void check_unsafe(const char* call) {
  std::lock_guard lock(mutex);
  for (const auto& [stream, capture] : captures) {
    bool own = capture->thread == std::this_thread::get_id();
    bool forbidden = capture->mode == Mode::Global || (capture->mode == Mode::ThreadLocal && own);
    TORCH_CHECK(!forbidden, call, " is not permitted while stream ", stream, " is capturing, in its capture's mode");
  }
}

}  // namespace hostmem
