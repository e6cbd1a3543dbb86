import { describe, expect, test } from "vitest";
import type { Container } from "../../api/meta/objects.ts";
import { MountPropagation } from "../../cri/generated/cri.ts";
import { makePod, makePodWith } from "./make-pod.fixture.ts";
import { type MountRequest, planMounts, wantsHostsFile } from "./plan-mounts.ts";

type VolumeMount = NonNullable<Container["volumeMounts"]>[number];

function plan(
  mounts: Partial<VolumeMount>[],
  rest: Partial<MountRequest> & { own?: Partial<Container> } = {},
) {
  const { own, ...request } = rest;
  const volumeMounts = mounts.map((mount) => ({ name: "v", mountPath: "/data", ...mount }));
  return planMounts({
    ...makePodWith({ volumeMounts, ...own }),
    volumes: new Map([
      ["v", { hostPath: "/data/pods/u-1/volumes/v", readOnly: false }],
      ["config", { hostPath: "/data/pods/u-1/volumes/config", readOnly: true }],
      ["host", { hostPath: "/srv", readOnly: false }],
    ]),
    environment: new Map([
      ["NAME", Buffer.from("web-0")],
      ["EMPTY", Buffer.alloc(0)],
    ]),
    podDirectory: "/data/pods/u-1",
    selinux: false,
    recursiveReadOnly: true,
    resolveSubPath: async (volume, subPath) => `${volume.hostPath}/${subPath}`,
    ...request,
  });
}

describe("planMounts", () => {
  test("mounts keep their order", async () => {
    const mounts = await plan([
      {},
      { name: "config", mountPath: "etc/app" },
      { name: "host", mountPath: "/srv" },
    ]);
    expect(mounts).toMatchObject([
      {
        containerPath: "/data",
        hostPath: "/data/pods/u-1/volumes/v",
        readonly: false,
        selinuxRelabel: false,
      },
      { containerPath: "/etc/app", hostPath: "/data/pods/u-1/volumes/config", readonly: true },
      { containerPath: "/srv", hostPath: "/srv", readonly: false },
    ]);
  });

  test.each<[Partial<VolumeMount>, object]>([
    [{ readOnly: true }, { readonly: true, recursiveReadOnly: false }],
    [
      { readOnly: true, recursiveReadOnly: "Enabled" },
      { readonly: true, recursiveReadOnly: true },
    ],
    [{ readOnly: true, recursiveReadOnly: "Disabled" }, { recursiveReadOnly: false }],
    [{ mountPropagation: "None" }, { propagation: MountPropagation.PROPAGATION_PRIVATE }],
    [
      { mountPropagation: "HostToContainer" },
      { propagation: MountPropagation.PROPAGATION_HOST_TO_CONTAINER },
    ],
    [{ mountPropagation: "Bidirectional" }, { propagation: MountPropagation.PROPAGATION_BIDIRECTIONAL }],
    [{ subPath: "a/b" }, { hostPath: "/data/pods/u-1/volumes/v/a/b" }],
    [{ subPathExpr: "$(NAME)/$$x" }, { hostPath: "/data/pods/u-1/volumes/v/web-0/$x" }],
    [{ subPath: "$(NAME)" }, { hostPath: "/data/pods/u-1/volumes/v/$(NAME)" }],
  ])("%j", async (mount, expected) => {
    expect(await plan([mount])).toMatchObject([expected]);
  });

  test("recursive read-only IfPossible", async () => {
    const mount = { readOnly: true, recursiveReadOnly: "IfPossible" };
    expect(await plan([mount])).toMatchObject([{ recursiveReadOnly: true }]);
    expect(await plan([mount], { recursiveReadOnly: false })).toMatchObject([{ recursiveReadOnly: false }]);
  });

  test("only files that the kubelet created are relabelled", async () => {
    const mounts = await plan([{}, { name: "host", mountPath: "/srv" }], { selinux: true });
    expect(mounts).toMatchObject([{ selinuxRelabel: true }, { selinuxRelabel: false }]);
  });

  const unresolved =
    'failed to resolve recursive read-only mode: volume "v" requested recursive read-only mode';
  test.each<[string, Partial<VolumeMount>, Parameters<typeof plan>[1]]>([
    ['cannot find volume "x" to mount into container "c"', { name: "x" }, {}],
    [
      'cannot find volume "b" to pass into container "c"',
      {},
      { own: { volumeDevices: [{ name: "b", devicePath: "/dev/b" }] } },
    ],
    ["error SubPath `/etc` must not be an absolute path", { subPath: "/etc" }, {}],
    ["unable to provision SubPath `a/../..`: must not contain '..'", { subPath: "a/../.." }, {}],
    [
      "unable to provision SubPath `../x`: must not contain '..'",
      { subPathExpr: "$(UP)/x" },
      { environment: new Map([["UP", Buffer.from("..")]]) },
    ],
    ["missing value for A, EMPTY", { subPathExpr: "$(EMPTY)/$(A)/$(NAME)" }, {}],
    [
      'failed to prepare subPath for volumeMount "v" of container "c"',
      { subPath: "x" },
      { resolveSubPath: () => Promise.reject(new Error("/secret/place")) },
    ],
    [`${unresolved}, but it is not read-only`, { recursiveReadOnly: "Enabled" }, {}],
    [
      `${unresolved}, but it is not compatible with propagation "HostToContainer"`,
      { recursiveReadOnly: "Enabled", readOnly: true, mountPropagation: "HostToContainer" },
      {},
    ],
    [
      `${unresolved}, but it is not supported by the runtime`,
      { recursiveReadOnly: "Enabled", readOnly: true },
      { recursiveReadOnly: false },
    ],
    ['invalid MountPropagation mode: "Odd"', { mountPropagation: "Odd" }, {}],
  ])("%s", async (message, mount, request) => {
    await expect(plan([mount], request)).rejects.toMatchObject({
      reason: "CreateContainerConfigError",
      message,
    });
  });
});

test.each([
  ["a pod with an address", [], ["10.0.0.2"], false, true],
  ["one without", [], [], false, false],
  ["one on the node's network", [], [], true, true],
  ["its own mount", ["/etc/hosts"], ["10.0.0.2"], false, false],
  ["in other words", ["/etc//hosts"], ["10.0.0.2"], true, false],
  ["a mount elsewhere", ["/etc"], ["10.0.0.2"], false, true],
])("hosts file: %s", (_, paths, podIps, hostNetwork, expected) => {
  const volumeMounts = paths.map((mountPath) => ({ name: "v", mountPath }));
  expect(wantsHostsFile(makePod({ hostNetwork }), { name: "c", volumeMounts }, podIps)).toBe(expected);
});
