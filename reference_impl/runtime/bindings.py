# ruff: noqa: N816 - the names are those of the bindings
"""The enums, structs and handle types of `cuda.bindings.runtime`.

They import without a GPU, so a program written against the bindings meets the same types here.  This module is the only
one that imports the bindings, which carry no type information.
"""

from __future__ import annotations

from typing import Any

from cuda.bindings import runtime as _runtime  # type: ignore[import-untyped,unused-ignore]

cudaEvent_t: Any = _runtime.cudaEvent_t
cudaGraphExec_t: Any = _runtime.cudaGraphExec_t
cudaGraphNode_t: Any = _runtime.cudaGraphNode_t
cudaGraph_t: Any = _runtime.cudaGraph_t
cudaHostFn_t: Any = _runtime.cudaHostFn_t
cudaStream_t: Any = _runtime.cudaStream_t
cudaUserObject_t: Any = _runtime.cudaUserObject_t

cudaError_t: Any = _runtime.cudaError_t
cudaGraphDebugDotFlags: Any = _runtime.cudaGraphDebugDotFlags
cudaGraphExecUpdateResult: Any = _runtime.cudaGraphExecUpdateResult
cudaGraphInstantiateFlags: Any = _runtime.cudaGraphInstantiateFlags
cudaGraphInstantiateResult: Any = _runtime.cudaGraphInstantiateResult
cudaGraphNodeType: Any = _runtime.cudaGraphNodeType
cudaMemcpyKind: Any = _runtime.cudaMemcpyKind
cudaStreamCaptureMode: Any = _runtime.cudaStreamCaptureMode
cudaStreamCaptureStatus: Any = _runtime.cudaStreamCaptureStatus
cudaStreamUpdateCaptureDependenciesFlags: Any = _runtime.cudaStreamUpdateCaptureDependenciesFlags
cudaUserObjectFlags: Any = _runtime.cudaUserObjectFlags
cudaUserObjectRetainFlags: Any = _runtime.cudaUserObjectRetainFlags

cudaExtent: Any = _runtime.cudaExtent
cudaGraphEdgeData: Any = _runtime.cudaGraphEdgeData
cudaGraphExecUpdateResultInfo: Any = _runtime.cudaGraphExecUpdateResultInfo
cudaGraphInstantiateParams: Any = _runtime.cudaGraphInstantiateParams
cudaHostNodeParams: Any = _runtime.cudaHostNodeParams
cudaKernelNodeParams: Any = _runtime.cudaKernelNodeParams
cudaMemcpy3DParms: Any = _runtime.cudaMemcpy3DParms
cudaMemsetParams: Any = _runtime.cudaMemsetParams
cudaPitchedPtr: Any = _runtime.cudaPitchedPtr
cudaPos: Any = _runtime.cudaPos
dim3: Any = _runtime.dim3
make_cudaExtent: Any = _runtime.make_cudaExtent
make_cudaPitchedPtr: Any = _runtime.make_cudaPitchedPtr
make_cudaPos: Any = _runtime.make_cudaPos

cudaEventBlockingSync: int = _runtime.cudaEventBlockingSync
cudaEventDefault: int = _runtime.cudaEventDefault
cudaEventDisableTiming: int = _runtime.cudaEventDisableTiming
cudaEventInterprocess: int = _runtime.cudaEventInterprocess
cudaEventRecordDefault: int = _runtime.cudaEventRecordDefault
cudaEventRecordExternal: int = _runtime.cudaEventRecordExternal
cudaEventWaitDefault: int = _runtime.cudaEventWaitDefault
cudaEventWaitExternal: int = _runtime.cudaEventWaitExternal
cudaHostRegisterDefault: int = _runtime.cudaHostRegisterDefault
cudaHostRegisterMapped: int = _runtime.cudaHostRegisterMapped
cudaHostRegisterPortable: int = _runtime.cudaHostRegisterPortable
cudaStreamDefault: int = _runtime.cudaStreamDefault
cudaStreamLegacy: int = _runtime.cudaStreamLegacy
cudaStreamNonBlocking: int = _runtime.cudaStreamNonBlocking
cudaStreamPerThread: int = _runtime.cudaStreamPerThread

error_name: Any = _runtime.cudaGetErrorName
error_string: Any = _runtime.cudaGetErrorString
RUNTIME_VERSION: int = _runtime.cudaRuntimeGetVersion()[1]
