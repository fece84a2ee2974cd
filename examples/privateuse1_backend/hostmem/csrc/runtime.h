// What a vendor's driver gives: streams, events, stream capture and executable graphs.  It knows nothing of tensors.
//
// The device is the host's own memory and cores.  Work that is not captured is done at once, in the thread that
// submits it, so streams and events have nothing to wait for outside of captures.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hostmem {

using StreamId = int64_t;
using PoolId = std::pair<unsigned long long, unsigned long long>;
constexpr StreamId kDefaultStream = 0;

enum class Mode { Global, ThreadLocal, Relaxed };

// One piece of work, and the earlier ones that it follows.
struct Node {
  std::string name;
  std::function<void()> run;
  std::set<size_t> after;
};

// In the order in which they were submitted, which satisfies every `after`.
using Nodes = std::vector<Node>;

// A capture underway.
struct Capture {
  StreamId origin;
  Mode mode;
  PoolId pool;  // where the memory comes from that is allocated meanwhile
  std::thread::id thread = std::this_thread::get_id();
  Nodes nodes = {};
  // The streams that take part, each with the nodes that its next one follows.
  std::map<StreamId, std::set<size_t>> tails = {};
};

// A point in a stream's work.
struct Event {
  std::weak_ptr<Capture> capture;  // the one that it was recorded in, if any
  std::set<size_t> nodes;
  std::chrono::steady_clock::time_point time;
};

StreamId new_stream();
StreamId current_stream();
StreamId exchange_stream(StreamId stream);

void record(Event& event, StreamId stream);
// Makes `stream` wait.  A stream that waits for an event of a capture takes part in that capture from then on.
void wait(const Event& event, StreamId stream);
// Refuses an event of a capture that is underway: its work is not running and never will be.
void check_query(const Event& event);

// Does `work` now or, while the current stream is capturing, makes it a node.
void submit(std::string name, std::function<void()> work);

// The capture that a stream takes part in, or none.
std::shared_ptr<Capture> capture_of(StreamId stream);
bool is_capturing();

std::shared_ptr<Capture> begin_capture(Mode mode, PoolId pool);
// Ends the capture, whatever comes of it.  Throws when forked work was not joined.
Nodes end_capture(const std::shared_ptr<Capture>& capture);
void abandon_capture(const std::shared_ptr<Capture>& capture);

// Waiting for a stream, or for the device, conflicts with a capture in any mode.
void synchronize_stream(StreamId stream);
void synchronize_device();
// Refuses what capture modes forbid: `call` of this thread, while some capture is underway.
void check_unsafe(const char* call);

}  // namespace hostmem
