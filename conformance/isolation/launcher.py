"""Launches worker processes, on this machine or behind gateways."""

from __future__ import annotations

import os
import sys
from typing import Any

import execnet
import pytest
from xdist import workermanage

from conformance.isolation.host import Host
from conformance.isolation.messages import START_UP, StartUp
from conformance.isolation.worker_process import WorkerProcess
from conformance.isolation.zygote import ForkGateway, Zygote


class Launcher(workermanage.NodeManager):  # type: ignore[misc]  # xdist ships no types
    """Launches workers.

    A gateway that is no local process gets a process of the kit's own at its far end, which starts the workers there
    and can end them: what a worker blocks, it cannot block.
    """

    def __init__(self, config: pytest.Config, specs: list[str]) -> None:
        super().__init__(config, [execnet.XSpec(spec) for spec in specs], defaultchdir="")
        self._here = Host()
        self._hosts: dict[str, Host] = {}

    def launch(
        self, slot: int, variables: dict[str, str], putevent: Any, *, trial: bool, reads: bool, spare: bool = False
    ) -> WorkerProcess:
        """Launch a worker at the place number `slot`, which tries the class first if `trial` says so.

        A `spare` one waits before it opens a device; one that `reads` looks at the graphs of tests that failed.

        Raises:
            Exception: whatever execnet raises when it cannot.
        """
        spec = self.specs[slot]
        python = f"//python={spec.python}" if spec.python and not spec.ssh else ""
        via = spec.via if spec.popen else self._proxy(spec)
        host = self._hosts.get(via or "", self._here)
        folder = host.make_folder()
        try:
            with host.marking(folder):
                gateway = self._gateway(f"popen//execmodel=main_thread_only{python}" + (f"//via={via}" if via else ""))
        except Exception:
            host.remove_folder(folder)
            raise
        start_up = StartUp(
            directory=spec.chdir or (str(self.config.invocation_params.dir) if via else None),
            same_python=not python and not via,
            variables={**(spec.env or {}), **variables},
            folder=folder,
            parent=None if via else os.getpid(),
            trial=trial,
            spare=spare,
            reads=reads,
        )
        return WorkerProcess(self, gateway, self.config, putevent, host, start_up)

    # -- from a zygote ------------------------------------------------------------------------------------------------

    def forks(self, slot: int, variables: dict[str, str]) -> bool:
        """Whether the worker at the place number `slot` could be a fork: one that needs no other machine, interpreter,
        folder or environment than this process, and whose session no other plug-in has to prepare.
        """
        spec = self.specs[slot]
        plain = spec.popen and not (spec.via or spec.python or spec.chdir or spec.env or variables)
        alone = not self.config.hook.pytest_configure_node.get_hookimpls()
        return bool(plain) and alone and sys.platform.startswith("linux")

    def zygote(self, timeout: float) -> Zygote:
        """A zygote, which has `timeout` seconds to start."""
        arguments = [str(word) for word in self.config.invocation_params.args]
        start_up = StartUp(directory=None, same_python=True, variables={}, folder="", parent=os.getpid(), trial=False)
        workerinput = {
            "workerid": "zygote",
            "workercount": len(self.specs),
            "testrunuid": self.testrunuid,
            "mainargv": sys.argv,
            START_UP: start_up.to_dict(),
        }
        path = workermanage._sys_path  # noqa: SLF001 - as for every worker
        return Zygote(self._here, path, arguments, workerinput, timeout)

    def fork(self, zygote: Zygote, putevent: Any, *, trial: bool, reads: bool, spare: bool) -> WorkerProcess | None:
        """Launch a worker from `zygote`, as `launch` does; ``None`` when that fails."""
        spec = execnet.XSpec("popen//execmodel=main_thread_only")
        self.group.allocate_id(spec)
        folder = self._here.make_folder()
        io = zygote.fork(folder, f"{spec.id}-worker")
        if io is None:
            self._here.remove_folder(folder)
            return None
        gateway = ForkGateway(io, spec)
        self.group._register(gateway)  # noqa: SLF001 - as for one that the group has made
        self.config.hook.pytest_xdist_newgateway(gateway=gateway)
        start_up = StartUp(
            directory=None,
            same_python=True,
            variables={},
            folder=folder,
            parent=None,
            trial=trial,
            spare=spare,
            reads=reads,
        )
        return WorkerProcess(self, gateway, self.config, putevent, self._here, start_up)

    # -- by gateways --------------------------------------------------------------------------------------------------

    def _gateway(self, text: str) -> Any:
        spec = execnet.XSpec(text)
        self.group.allocate_id(spec)
        gateway = self.group.makegateway(spec)
        self.config.hook.pytest_xdist_newgateway(gateway=gateway)
        return gateway

    def _proxy(self, spec: Any) -> str:
        """The name of the kit's own process at the far end of a gateway."""
        name = f"host-{spec.id}"
        if name not in self._hosts:
            text = "//".join(part for part in str(spec).split("//") if not part.startswith(("id=", "execmodel=")))
            gateway = self.group.makegateway(execnet.XSpec(f"{text}//id={name}//execmodel=thread"))
            self._hosts[name] = Host(gateway)
        return name

    def _getrsyncdirs(self) -> list[Any]:
        # The kit is installed where it runs, or its checkout is at the same place.
        return []
