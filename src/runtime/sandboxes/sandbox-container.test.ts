import { expect, test } from "vitest";
import { ContainerConfig, NamespaceMode, PodSandboxConfig } from "../../cri/generated/cri.ts";
import {
  containerAnnotations,
  decideSandboxContainer,
  sandboxAnnotations,
  sandboxContainerSpec,
} from "./sandbox-container.ts";

const handlers = [{ name: "microvm" }];
const { POD, CONTAINER, NODE } = NamespaceMode;
const configOf = (pid: NamespaceMode) =>
  PodSandboxConfig.fromPartial({
    metadata: { name: "web", namespace: "shop", uid: "u1" },
    logDirectory: "/logs",
    linux: { securityContext: { namespaceOptions: { pid } } },
  });

test.each([
  ["", CONTAINER, "none"],
  ["", NODE, "none"],
  ["", POD, "pause"],
  // The name of the default driver is an alias of the default handler.
  ["oci", CONTAINER, "none"],
  ["oci", POD, "pause"],
  ["microvm", CONTAINER, "handler"],
  ["microvm", NODE, "handler"],
  ["microvm", POD, "handler"],
] as const)(
  'the sandbox of handler "%s" with PID mode %i has the container "%s"',
  (runtimeHandler, pid, container) => {
    expect(decideSandboxContainer({ config: configOf(pid), runtimeHandler }, handlers)).toBe(container);
  },
);

test.each([
  ["handler", CONTAINER, "new"],
  ["handler", POD, "new"],
  ["handler", NODE, "host"],
  ["pause", POD, "new"],
] as const)(
  "the container %s of a pod with PID mode %i has PID namespace %s",
  (container, pid, namespace) => {
    const spec = sandboxContainerSpec({
      sandbox: { id: "s", config: configOf(pid), runtimeHandler: "microvm" },
      container,
      rootfs: "/rootfs",
      namespaces: { network: "/n", ipc: "/i", uts: "/u" },
    });
    expect(spec.namespaces.pid).toBe(namespace);
    expect(Object.keys(spec.annotations).length > 0).toBe(container === "handler");
  },
);

const config = PodSandboxConfig.fromPartial({
  metadata: { name: "web", namespace: "shop", uid: "u1" },
  logDirectory: "/logs/web",
});
const container = ContainerConfig.fromPartial({
  metadata: { name: "main" },
  image: { image: "sha256:abc", userSpecifiedImage: "nginx:1" },
});
const pod = {
  "io.kubernetes.cri.sandbox-id": "s",
  "io.kubernetes.cri.sandbox-namespace": "shop",
  "io.kubernetes.cri.sandbox-name": "web",
  "io.kubernetes.cri.sandbox-uid": "u1",
  "io.kubernetes.cri.sandbox-log-directory": "/logs/web",
  "io.kubernetes.cri-o.SandboxID": "s",
  "io.kubernetes.cri-o.Namespace": "shop",
  "io.kubernetes.cri-o.KubeName": "web",
};

test("marks a sandbox as such", () => {
  expect(sandboxAnnotations({ id: "s", config })).toEqual({
    ...pod,
    "io.kubernetes.cri.container-type": "sandbox",
    "io.kubernetes.cri-o.ContainerType": "sandbox",
  });
});

test("adds sandbox, name and image to a container", () => {
  expect(containerAnnotations({ id: "s", config, state: { container: "handler" } }, container)).toEqual({
    ...pod,
    "io.kubernetes.cri.container-type": "container",
    "io.kubernetes.cri.container-name": "main",
    "io.kubernetes.cri.image-name": "nginx:1",
    "io.kubernetes.cri-o.ContainerType": "container",
    "io.kubernetes.cri-o.ContainerName": "main",
    "io.kubernetes.cri-o.ImageName": "nginx:1",
  });
});

test.each(["none", "pause"] as const)("adds nothing to a container in a sandbox with container %s", (own) => {
  expect(containerAnnotations({ id: "s", config, state: { container: own } }, container)).toEqual({});
});
