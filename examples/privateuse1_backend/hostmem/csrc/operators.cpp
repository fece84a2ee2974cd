// The operators: a few of the device's own, and a fallback that lends the host's kernels for all others.
//
// Every change of device memory goes through `submit`, which is all that makes it capturable.  While capturing no
// kernel runs; the shapes of the results come from the operator's Meta kernel, as a device's kernels need them before
// they are launched.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/set_native.h>
#include <torch/library.h>

#include "memory.h"
#include "runtime.h"

namespace hostmem {
namespace {

using torch::jit::Stack;

bool on_device(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kDevice;
}

// Applies `change` to every defined tensor in `value`.
template <typename Change>
c10::IValue map_tensors(const c10::IValue& value, Change&& change) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    return tensor.defined() ? change(tensor) : tensor;
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> tensors;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      tensors.push_back(tensor.defined() ? change(tensor) : tensor);
    }
    return tensors;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> tensors;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      tensors.push_back(tensor && tensor->defined() ? std::optional(change(*tensor)) : tensor);
    }
    return tensors;
  }
  return value;
}

std::vector<at::Tensor> tensors_in(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  map_tensors(value, [&](const at::Tensor& tensor) {
    tensors.push_back(tensor);
    return tensor;
  });
  return tensors;
}

at::Tensor make_tensor(c10::Storage storage, c10::DispatchKeySet keys, const at::Tensor& geometry) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, geometry.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(geometry.sizes(), geometry.strides(), geometry.storage_offset());
  return tensor;
}

// Makes host tensors that lie over the memory of device tensors and do not keep it alive, as a kernel's pointers.
// Those of one storage share one again, so that the host's kernels see what overlaps.
class HostAliases {
 public:
  at::Tensor operator()(const at::Tensor& tensor) {
    if (!on_device(tensor)) {
      return tensor;
    }
    const auto& storage = tensor.storage();
    auto [found, is_new] = storages_.try_emplace(storage.unsafeGetStorageImpl());
    if (is_new) {
      c10::DataPtr memory(storage.mutable_data(), c10::Device(at::kCPU));
      found->second = c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(), std::move(memory),
                                   c10::GetAllocator(at::kCPU), /*resizable=*/true);
    }
    auto alias = make_tensor(found->second, c10::DispatchKeySet(c10::DispatchKey::CPU), tensor);
    alias._set_conj(tensor.is_conj());
    alias._set_neg(tensor.is_neg());
    return alias;
  }

 private:
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages_;
};

at::Tensor without_memory(const at::Tensor& tensor) {
  return on_device(tensor)
      ? at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta))
      : tensor;
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  check_device(device);
  constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
  return at::detail::empty_strided_generic(size, stride, device_allocator(), keys, c10::dtype_or_default(dtype));
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  check_device(device);
  constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
  return at::detail::empty_generic(size, device_allocator(), keys, c10::dtype_or_default(dtype), format);
}

at::Tensor empty_as(const at::Tensor& geometry) {
  return empty_strided(geometry.sizes(), geometry.strides(), geometry.scalar_type(), {}, {}, {});
}

// torch's own implementation would copy the contents by itself, past `submit`.
const at::Tensor& resize_tensor(const at::Tensor& tensor, at::IntArrayRef size,
                                std::optional<at::MemoryFormat> format) {
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(size);
  const size_t bytes = (tensor.storage_offset() + tensor.numel()) * tensor.itemsize();
  if (tensor.numel() > 0 && bytes > tensor.storage().nbytes()) {
    resize_storage(tensor.storage(), bytes);
  }
  if (format) {
    impl->empty_tensor_restride(*format);
  }
  return tensor;
}

// Arguments for a kernel of another backend.
template <typename Change>
Stack lend(const Stack& arguments, c10::DeviceType device, Change&& change) {
  Stack lent;
  for (const auto& value : arguments) {
    lent.push_back(value.isDevice() ? c10::IValue(c10::Device(device)) : map_tensors(value, change));
  }
  return lent;
}

// Runs such a kernel, past autograd, autocast and modes.
Stack call(const c10::OperatorHandle& op, c10::DispatchKey backend, Stack arguments) {
  at::AutoDispatchBelowADInplaceOrView guard;
  op.redispatchBoxed(c10::DispatchKeySet(backend), &arguments);
  return arguments;
}

// Copies what a host kernel computed to where the program has it; None is where the kernel wrote by itself.
void copy_results(const Stack& computed, const Stack& results) {
  at::AutoDispatchBelowADInplaceOrView guard;
  for (size_t number = 0; number < computed.size(); ++number) {
    const auto from = tensors_in(computed[number]), to = tensors_in(results[number]);
    for (size_t part = 0; part < to.size(); ++part) {
      to[part].copy_(from[part]);
    }
  }
}

// The argument that a result aliases, or null.
const c10::IValue* aliased(const c10::FunctionSchema& schema, size_t result, const Stack& arguments) {
  const auto* alias = schema.returns()[result].alias_info();
  for (size_t number = 0; alias != nullptr && number < arguments.size(); ++number) {
    const auto* other = schema.arguments()[number].alias_info();
    if (other != nullptr && other->beforeSets() == alias->beforeSets()) {
      return &arguments[number];
    }
  }
  return nullptr;
}

// Only looks at the memory of an argument in another way.
bool is_view(const c10::FunctionSchema& schema) {
  return schema.returns().size() == 1 && schema.returns()[0].alias_info() != nullptr &&
      !schema.returns()[0].alias_info()->isWrite();
}

void run_view(const c10::OperatorHandle& op, const Stack& arguments, Stack* stack) {
  const auto result = call(op, c10::DispatchKey::CPU, lend(arguments, at::kCPU, HostAliases()))[0];
  const at::Tensor base = tensors_in(*aliased(op.schema(), 0, arguments)).at(0);
  stack->push_back(map_tensors(result, [&](const at::Tensor& geometry) {
    return make_tensor(c10::Storage(base.storage()), base.key_set(), geometry);
  }));
}

// Resizes on the device what a kernel resized: an out= argument of another shape.
void follow_resizes(const c10::FunctionSchema& schema, const Stack& arguments, const Stack& lent) {
  for (size_t number = 0; number < arguments.size(); ++number) {
    const auto* alias = schema.arguments()[number].alias_info();
    if (alias == nullptr || !alias->isWrite()) {
      continue;
    }
    const auto ours = tensors_in(arguments[number]), theirs = tensors_in(lent[number]);
    for (size_t part = 0; part < ours.size(); ++part) {
      if (ours[part].sizes() != theirs[part].sizes() || ours[part].strides() != theirs[part].strides()) {
        resize_tensor(ours[part], theirs[part].sizes(), {});
        ours[part].unsafeGetTensorImpl()->set_sizes_and_strides(theirs[part].sizes(), theirs[part].strides());
      }
    }
  }
}

// The results of an operator: the arguments that it returns, and new tensors like `computed`.
Stack make_results(const c10::FunctionSchema& schema, const Stack& arguments, const Stack& computed) {
  Stack results;
  for (size_t number = 0; number < computed.size(); ++number) {
    const auto* argument = aliased(schema, number, arguments);
    results.push_back(argument != nullptr ? *argument : map_tensors(computed[number], empty_as));
  }
  return results;
}

// Where host kernels leave results: in new memory.  None is where they write into an argument.
Stack lend_results(const c10::FunctionSchema& schema, const Stack& arguments, const Stack& results) {
  Stack lent;
  for (size_t number = 0; number < results.size(); ++number) {
    const bool is_new = aliased(schema, number, arguments) == nullptr;
    lent.push_back(is_new ? map_tensors(results[number], HostAliases()) : c10::IValue());
  }
  return lent;
}

// Outside of captures: the kernel runs, and says itself what its results look like.
Stack run_now(const c10::OperatorHandle& op, const Stack& arguments) {
  const auto& schema = op.schema();
  const Stack lent = lend(arguments, at::kCPU, HostAliases());
  const Stack computed = call(op, c10::DispatchKey::CPU, lent);
  follow_resizes(schema, arguments, lent);
  // What outgrew its memory was written elsewhere.
  const Stack now = lend(arguments, at::kCPU, HostAliases());
  for (size_t number = 0; number < arguments.size(); ++number) {
    const auto from = tensors_in(lent[number]), to = tensors_in(now[number]);
    for (size_t part = 0; part < to.size(); ++part) {
      if (to[part].data_ptr() != from[part].data_ptr()) {
        to[part].copy_(from[part]);
      }
    }
  }
  const Stack results = make_results(schema, arguments, computed);
  copy_results(computed, lend_results(schema, arguments, results));
  return results;
}

bool has_mask(const Stack& arguments) {
  for (const auto& value : arguments) {
    for (const auto& tensor : value.isOptionalTensorList() ? tensors_in(value) : std::vector<at::Tensor>{}) {
      if (tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte) {
        return true;
      }
    }
  }
  return false;
}

// Whether the host must know values of the device to say how large a result is, or what.
bool reads_values(const c10::OperatorHandle& op, const Stack& arguments) {
  if (op.hasTag(at::Tag::data_dependent_output)) {
    return true;
  }
  const auto& name = op.schema().name();
  if (name == "aten::index") {
    return has_mask(arguments);
  }
  if (name == "aten::_index_put_impl_") {  // one value fills whatever the mask selects
    return has_mask(arguments) && arguments[2].toTensor().numel() != 1;
  }
  return op.hasTag(at::Tag::dynamic_output_shape);
}

// What makes the host wait for the device would wait for work that does not run.
void check_capturable(const c10::OperatorHandle& op, const Stack& arguments) {
  const auto& schema = op.schema();
  TORCH_CHECK(!reads_values(op, arguments), schema.name(),
              " needs values of the device on the host, which cannot be while the current stream is capturing");
  for (const auto& value : arguments) {
    for (const auto& tensor : tensors_in(value)) {
      TORCH_CHECK(on_device(tensor) || tensor.dim() == 0, schema.name(),
                  " reads a tensor on the host; copy it to the device before the capture begins");
    }
  }
  TORCH_CHECK_NOT_IMPLEMENTED(op.hasComputedKernelForDispatchKey(c10::DispatchKey::Meta), schema.name(),
                              " has no Meta kernel, so the shape of its result is unknown while capturing");
}

// Inside of captures: the results are made, and the kernel becomes a node.
Stack record(const c10::OperatorHandle& op, const Stack& arguments) {
  const auto& schema = op.schema();
  check_capturable(op, arguments);
  const Stack shapes = lend(arguments, at::kMeta, without_memory);
  const Stack inferred = call(op, c10::DispatchKey::Meta, shapes);
  follow_resizes(schema, arguments, shapes);
  HostAliases host;
  const Stack lent = lend(arguments, at::kCPU, [&](const at::Tensor& tensor) {
    // A number that lies in a tensor on the host is taken as it is now, like a kernel's parameter.
    return on_device(tensor) ? host(tensor) : tensor.clone();
  });
  const Stack results = make_results(schema, arguments, inferred);
  submit(schema.name(), [op, lent, to = lend_results(schema, arguments, results)] {
    copy_results(call(op, c10::DispatchKey::CPU, lent), to);
  });
  return results;
}

void fallback(const c10::OperatorHandle& op, Stack* stack) {
  const auto& schema = op.schema();
  const Stack arguments(stack->end() - static_cast<std::ptrdiff_t>(schema.arguments().size()), stack->end());
  stack->resize(stack->size() - arguments.size());
  if (is_view(schema)) {
    run_view(op, arguments, stack);
  } else {
    const Stack results = is_capturing() ? record(op, arguments) : run_now(op, arguments);
    stack->insert(stack->end(), results.begin(), results.end());
  }
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  const bool leaves_device = !on_device(from) || !on_device(to);
  TORCH_CHECK(!leaves_device || non_blocking || !is_capturing(),
              "a copy between host and device waits for the device, which cannot be while the current stream is "
              "capturing; copy with non_blocking=True");
  HostAliases host;
  submit("copy", [from = host(from), to = host(to)] {
    at::AutoDispatchBelowADInplaceOrView guard;
    to.copy_(from);
  });
  return to;
}

at::Tensor& set_storage(at::Tensor& tensor, at::Storage storage, int64_t offset, at::IntArrayRef size,
                        at::IntArrayRef stride) {
  TORCH_CHECK(storage.device() == tensor.device(), "a tensor of ", tensor.device(), " cannot have a storage of ",
              storage.device());
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->set_storage_keep_dtype(std::move(storage));
  impl->set_storage_offset(offset);
  resize_tensor(tensor, size, {});
  if (stride.data() != nullptr) {
    impl->set_sizes_and_strides(size, stride);
  }
  return tensor;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  // Those that make memory, change it past `submit`, or change what a tensor is rather than what it holds.
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_copy_from", copy_from);
  library.impl("resize_", resize_tensor);
  library.impl("set_.source_Storage_storage_offset", set_storage);
  library.impl("set_.source_Storage", [](at::Tensor& tensor, at::Storage storage) -> at::Tensor& {
    return at::native::set_(tensor, std::move(storage));
  });
  library.impl("set_.source_Tensor", at::native::set_tensor_);
  // Those that torch would turn into others, which only a backend's own kernels would implement.
  for (const char* name : {"convolution", "convolution_backward"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
}

// A copy resolves the lazy bits of complex tensors.  Left to the fallback of these keys, which resolves them by a copy,
// it would never end.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace
}  // namespace hostmem
