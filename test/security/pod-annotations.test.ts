import { expect, test } from "vitest";
import { ContainerConfig, PodSandboxConfig } from "../../src/cri/generated/cri.ts";
import { buildContainerSpec } from "../../src/runtime/container/build-container-spec.ts";
import { parseImageConfig } from "../../src/runtime/image/image-config.ts";

test("no annotation of a pod gives orders to the OCI runtime", () => {
  const orders = {
    "run.oci.keep_original_groups": "1",
    "run.oci.seccomp.plugins": "/hostile.so",
    "run.oci.hooks.stdin": "1",
    "org.criu.config": "/hostile.conf",
    "org.systemd.property.ExecStart": "x",
    "io.katacontainers.config.hypervisor.path": "/hostile",
    "module.wasm.image/variant": "compat",
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
  });
  expect(annotations).toEqual({ "io.kubernetes.container.hash": "1" });
});
