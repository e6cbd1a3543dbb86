import { expect, test } from "vitest";
import type { Container, PodSpec } from "../../meta/objects.ts";
import { makePod, makePodWith, sentences } from "../pod.fixture.ts";
import { validatePod } from "./pod.ts";

test.each<[Partial<PodSpec>, string[]]>([
  [{ securityContext: { runAsUser: 1000, fsGroup: 2000, supplementalGroups: [1], runAsNonRoot: true } }, []],
  [{ securityContext: { sysctls: [{ name: "net.ipv4.ip_forward", value: "1" }] } }, []],
  [{ securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "a/b.json" } } }, []],
  [
    { securityContext: { runAsUser: -1, supplementalGroups: [2 ** 31] } },
    [
      "runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
      "supplementalGroups[0]: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
    ],
  ],
  [
    { securityContext: { sysctls: [{ name: "a b", value: "" }] } },
    [
      'sysctls[0].name: Invalid value: "a b": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
    ],
  ],
  [
    { hostNetwork: true, securityContext: { sysctls: [{ name: "net/core/somaxconn", value: "1" }] } },
    [
      "sysctls[0].name: Invalid value: \"net/core/somaxconn\": may not be specified when 'hostNetwork' is true",
    ],
  ],
  [
    { hostIPC: true, securityContext: { sysctls: [{ name: "kernel.shmmax", value: "1" }] } },
    ["sysctls[0].name: Invalid value: \"kernel.shmmax\": may not be specified when 'hostIPC' is true"],
  ],
  [
    { securityContext: { fsGroupChangePolicy: "Never", supplementalGroupsPolicy: "Mix" } },
    [
      'fsGroupChangePolicy: Unsupported value: "Never": supported values: "Always", "OnRootMismatch"',
      'supplementalGroupsPolicy: Unsupported value: "Mix": supported values: "Merge", "Strict"',
    ],
  ],
  [
    { securityContext: { seccompProfile: { type: "Localhost" } } },
    ["seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"],
  ],
  [
    { securityContext: { appArmorProfile: { type: "Strict" } } },
    [
      'appArmorProfile.type: Unsupported value: "Strict": supported values: "Localhost", "RuntimeDefault", "Unconfined"',
    ],
  ],
])("pod %j", (spec, expected) => {
  const found = sentences(validatePod(makePod(spec)));
  expect(found).toEqual(expected.map((sentence) => `spec.securityContext.${sentence}`));
});

test.each<[Container["securityContext"], string[]]>([
  [{ privileged: true, capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] } }, []],
  [{ procMount: "Default", readOnlyRootFilesystem: true }, []],
  [{ procMount: "Open" }, ['.procMount: Unsupported value: "Open": supported values: "Default", "Unmasked"']],
  [
    { procMount: "Unmasked" },
    ['.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`'],
  ],
  [
    { allowPrivilegeEscalation: false, privileged: true },
    [
      ': Invalid value: {"allowPrivilegeEscalation":false,"privileged":true}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
    ],
  ],
  [
    { windowsOptions: { runAsUserName: "a\\b\\c" } },
    [
      '.windowsOptions.runAsUserName: Invalid value: "a\\\\b\\\\c": runAsUserName cannot contain more than one backslash',
    ],
  ],
  [{ windowsOptions: { runAsUserName: "EXAMPLE\\admin" } }, []],
  [
    { windowsOptions: { hostProcess: true } },
    [
      "spec.hostNetwork: Invalid value: false: hostNetwork must be true if pod contains any hostProcess containers",
    ],
  ],
])("container %j", (securityContext, expected) => {
  const found = sentences(validatePod(makePodWith({ securityContext })));
  expect(found).toEqual(
    expected.map((sentence) =>
      sentence.startsWith("spec") ? sentence : `spec.containers[0].securityContext${sentence}`,
    ),
  );
});
