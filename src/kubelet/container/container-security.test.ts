import { describe, expect, test } from "vitest";
import type { Container, PodSpec } from "../../api/objects.ts";
import { SupplementalGroupsPolicy } from "../../cri/generated/cri.ts";
import { containerSecurity, type ImageUser } from "./container-security.ts";
import { makePodWith } from "./make-pod.fixture.ts";

type Own = Container["securityContext"];
type Pods = PodSpec["securityContext"];

function security(own: Own, pods: Pods = {}, imageUser: ImageUser = { uid: 0 }) {
  const made = makePodWith({ securityContext: own }, { securityContext: pods });
  const settings = { profilesDirectory: "/p", confineByDefault: false, thermalPaths: ["/sys/hot"] };
  return containerSecurity({ ...made, imageUser }, settings);
}

describe("containerSecurity", () => {
  test("nothing asked for", () => {
    expect(security(undefined)).toMatchObject({
      capabilities: undefined,
      privileged: false,
      readonlyRootfs: false,
      noNewPrivs: false,
      runAsUser: { value: 0n },
      runAsGroup: undefined,
      runAsUsername: "",
      supplementalGroups: [],
      maskedPaths: expect.arrayContaining(["/proc/kcore", "/proc/interrupts", "/sys/hot"]),
      readonlyPaths: ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"],
    });
  });

  test("the container's settings go over the pod's", () => {
    const pods = { runAsUser: 1, runAsGroup: 2, seLinuxOptions: { level: "s0" }, fsGroup: 9 };
    expect(security({}, pods)).toMatchObject({
      runAsUser: { value: 1n },
      runAsGroup: { value: 2n },
      selinuxOptions: { level: "s0" },
      supplementalGroups: [9n],
      supplementalGroupsPolicy: SupplementalGroupsPolicy.Merge,
    });
    const own = { runAsUser: 0, runAsGroup: undefined, seLinuxOptions: { type: "t" } };
    expect(security(own, pods)).toMatchObject({
      runAsUser: { value: 0n },
      runAsGroup: { value: 2n },
      selinuxOptions: { level: "", type: "t" },
    });
  });

  test.each([
    [{ privileged: true }, { privileged: true }],
    [{ readOnlyRootFilesystem: true }, { readonlyRootfs: true }],
    [{ allowPrivilegeEscalation: false }, { noNewPrivs: true }],
    [{ allowPrivilegeEscalation: true }, { noNewPrivs: false }],
    [{ procMount: "Unmasked" }, { maskedPaths: [], readonlyPaths: [] }],
    [
      { capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] } },
      { capabilities: { addCapabilities: ["NET_ADMIN"], dropCapabilities: ["ALL"] } },
    ],
  ])("%j", (own, expected) => {
    expect(security(own)).toMatchObject(expected);
  });

  test("an image's user that is a name is left to the runtime", () => {
    const named = security({}, {}, { username: "nginx" });
    expect(named).toMatchObject({ runAsUser: undefined, runAsUsername: "nginx" });
    expect(security({ runAsUser: 5 }, {}, { username: "nginx" })).toMatchObject({
      runAsUser: { value: 5n },
      runAsUsername: "",
    });
  });
});

describe("runAsNonRoot", () => {
  const where = '(pod: "web_shop(u-1)", container: c)';
  test.each<[string, Own, Pods, ImageUser]>([
    ["another user", { runAsUser: 1 }, { runAsNonRoot: true }, { uid: 0 }],
    ["the image's user", { runAsNonRoot: true }, {}, { uid: 101 }],
    ["the container's word goes first", { runAsNonRoot: false }, { runAsNonRoot: true }, { uid: 0 }],
    ["a known user instead of a name", { runAsUser: 1, runAsNonRoot: true }, {}, { username: "x" }],
  ])("%s may run", (_, own, pods, user) => {
    expect(() => security(own, pods, user)).not.toThrow();
  });

  test.each<[string, Own, Pods, ImageUser]>([
    [
      `container has runAsNonRoot and image will run as root ${where}`,
      { runAsNonRoot: true },
      {},
      { uid: 0 },
    ],
    [
      `container has runAsNonRoot and image will run as root ${where}`,
      {},
      { runAsNonRoot: true },
      { uid: 0 },
    ],
    [
      `container's runAsUser breaks non-root policy ${where}`,
      { runAsUser: 0 },
      { runAsNonRoot: true },
      { uid: 1 },
    ],
    [
      `container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root ${where}`,
      { runAsNonRoot: true },
      {},
      { username: "www" },
    ],
    [
      `container has runAsNonRoot and image has an invalid user id (4294967295). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive ${where}`,
      { runAsNonRoot: true },
      {},
      { uid: 4_294_967_295 },
    ],
  ])("%s", (message, own, pods, user) => {
    const reason = "CreateContainerConfigError";
    expect(() => security(own, pods, user)).toThrow(expect.objectContaining({ reason, message }));
  });
});
