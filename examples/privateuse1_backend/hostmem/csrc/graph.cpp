// The graph implementation that torch.accelerator.Graph finds for this device.
#include <ATen/core/GraphImplInterface.h>

#include <atomic>
#include <fstream>

#include "memory.h"
#include "runtime.h"

namespace hostmem {
namespace {

Mode mode_of(at::GraphCaptureMode mode) {
  switch (mode) {
    case at::GraphCaptureMode::ThreadLocal:
      return Mode::ThreadLocal;
    case at::GraphCaptureMode::Relaxed:
      return Mode::Relaxed;
    default:  // this backend's default is the strictest one
      return Mode::Global;
  }
}

c10::MempoolId_t new_pool() {
  static std::atomic<c10::CaptureId_t> last{0};
  return {++last, 0};
}

void run(const Nodes& nodes) {
  for (const Node& node : nodes) {
    node.run();
  }
}

class Graph final : public at::GraphImplInterface {
 public:
  explicit Graph(const at::GraphImplArgs& arguments) : keep_graph_(arguments.keep_graph) {}

  ~Graph() override {
    reset();
  }

  void capture_begin(c10::MempoolId_t pool, at::GraphCaptureMode mode) override {
    TORCH_CHECK(!capture_, "capture_begin: this graph is capturing already; call capture_end first");
    TORCH_CHECK(!template_, "capture_begin: this graph holds a capture already; call reset first");
    const auto chosen = pool == kCommonPool ? new_pool() : pool;
    capture_ = begin_capture(mode_of(mode), chosen);
    release_own_pool();  // of a capture that failed
    pool_ = chosen;
    retain_pool(pool_);
  }

  void capture_end() override {
    TORCH_CHECK(capture_, "capture_end: this graph is not capturing; call capture_begin first");
    TORCH_CHECK(current_stream() == capture_->origin,
                "capture_end: the capture must end on the stream that it began on; make that stream current");
    const auto capture = std::exchange(capture_, nullptr);
    template_ = std::make_shared<const Nodes>(end_capture(capture));
    if (template_->empty()) {
      TORCH_WARN("capture_end: nothing was submitted to the capturing stream, so the graph is empty");
    }
    if (!keep_graph_) {
      executable_ = template_;
    }
  }

  void instantiate() override {
    TORCH_CHECK(keep_graph_, "instantiate: capture_end has done it, because this graph was made with keep_graph=False");
    TORCH_CHECK(template_, "instantiate: this graph holds no capture; capture something first");
    executable_ = template_;
  }

  void replay() override {
    TORCH_CHECK(template_, "replay: this graph holds no capture; capture something first");
    if (!executable_) {
      instantiate();
    }
    // Inside another graph's capture the whole replay becomes one node of it.
    submit("graph", [nodes = executable_] { run(*nodes); });
  }

  void reset() override {
    if (capture_) {
      abandon_capture(std::exchange(capture_, nullptr));
    }
    template_ = executable_ = nullptr;
    release_own_pool();
  }

  c10::MempoolId_t pool() const override {
    TORCH_CHECK(template_, "pool: this graph holds no capture, so it has no pool; capture something first");
    return pool_;
  }

  void enable_debug_mode() override {
    debug_ = true;
  }

  // In the DOT language: a node for each piece of work, an edge for each order.
  void debug_dump(const std::string& path) override {
    TORCH_CHECK(template_, "debug_dump: this graph holds no capture; capture something first");
    if (!debug_) {
      TORCH_WARN("debug_dump: nothing is written, because enable_debug_mode() was not called on this graph");
      return;
    }
    std::ofstream file(path);
    file << "digraph hostmem {\n";
    for (size_t number = 0; number < template_->size(); ++number) {
      const Node& node = (*template_)[number];
      file << "  n" << number << " [label=\"" << node.name << "\"];\n";
      for (size_t earlier : node.after) {
        file << "  n" << earlier << " -> n" << number << ";\n";
      }
    }
    file << "}\n";
    file.close();
    TORCH_CHECK(file, "debug_dump: ", path, " cannot be written");
  }

 private:
  void release_own_pool() {
    if (pool_ != kCommonPool) {
      release_pool(std::exchange(pool_, kCommonPool));
    }
  }

  const bool keep_graph_;
  bool debug_ = false;
  c10::MempoolId_t pool_ = kCommonPool;
  std::shared_ptr<Capture> capture_;          // while capturing
  std::shared_ptr<const Nodes> template_;     // from capture_end to reset
  std::shared_ptr<const Nodes> executable_;  // what replay runs; nodes are immutable, so it may be the template itself
};

}  // namespace
}  // namespace hostmem

namespace at {
// The key is the name of the renamed backend, in capitals.
REGISTER_GRAPH_IMPL(HOSTMEM, hostmem::Graph)
}  // namespace at
