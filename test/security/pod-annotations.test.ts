import { expect, test } from "vitest";
import { ContainerConfig, PodSandboxConfig } from "../../src/cri/generated/cri.ts";
import { buildContainerSpec } from "../../src/runtime/containers/build-container-spec.ts";
import { parseImageConfig } from "../../src/runtime/images/images.ts";

test("annotations of a pod are not passed to the OCI runtime", () => {
  const orders = {
    "run.oci.keep_original_groups": "1",
    "run.oci.seccomp.plugins": "/hostile.so",
    "run.oci.hooks.stdin": "1",
    "org.criu.config": "/hostile.conf",
    "org.systemd.property.ExecStart": "x",
    "io.katacontainers.config.hypervisor.path": "/hostile",
    "module.wasm.image/variant": "compat",
    "io.kubernetes.cri.container-type": "sandbox",
    "io.kubernetes.cri.sandbox-id": "the sandbox of another pod",
    "io.kubernetes.cri-o.SandboxID": "the sandbox of another pod",
    "io.kubernetes.sandbox.id": "the sandbox of another pod",
  };
  const { annotations } = buildContainerSpec({
    id: "c",
    handler: "",
    config: ContainerConfig.fromPartial({
      command: ["true"],
      annotations: { ...orders, "io.kubernetes.container.hash": "1" },
    }),
    sandboxConfig: PodSandboxConfig.fromPartial({ annotations: orders }),
    image: parseImageConfig("{}").config,
    rootfs: "/rootfs",
    user: { uid: 0, gid: 0, additionalGids: [] },
    mounts: [],
    namespaces: { network: "new", ipc: "new", uts: "new", pid: "new" },
    logPath: "",
    runtimeAnnotations: { "io.kubernetes.cri.sandbox-id": "its own" },
  });
  expect(annotations).toEqual({
    "io.kubernetes.container.hash": "1",
    "io.kubernetes.cri.sandbox-id": "its own",
  });
});
