// torch.autocast on this device: the operators that run in the lower precision, whatever their operands are in.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include "memory.h"

namespace hostmem {
namespace {

void in_lower_precision(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastPrivateUse1);
  const auto dtype = at::autocast::get_autocast_dtype(kDevice);
  const auto count = op.schema().arguments().size();
  for (auto value = stack->end() - static_cast<std::ptrdiff_t>(count); value != stack->end(); ++value) {
    if (value->isTensor()) {
      *value = at::autocast::cached_cast(dtype, value->toTensor(), kDevice);
    }
  }
  op.callBoxed(stack);
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, library) {
  for (const char* name : {"mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "matmul", "linear"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&in_lower_precision>());
  }
}

}  // namespace
}  // namespace hostmem
