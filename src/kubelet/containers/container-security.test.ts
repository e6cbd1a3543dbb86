import { describe, expect, test } from "vitest";
import type { Container, PodSpec } from "../../api/meta/objects.ts";
import {
  ImageStatusResponse,
  SecurityProfile_ProfileType as ProfileType,
  SupplementalGroupsPolicy,
} from "../../cri/generated/cri.ts";
import {
  appArmorProfile,
  containerSecurity,
  createImageUserReader,
  type ImageUser,
  seccompProfile,
} from "./container-security.ts";
import { makePodWith } from "./make-pod.fixture.ts";

describe("container-security", () => {
  type Own = Container["securityContext"];
  type Pods = PodSpec["securityContext"];

  function security(own: Own, pods: Pods = {}, imageUser: ImageUser = { uid: 0 }) {
    const made = makePodWith({ securityContext: own }, { securityContext: pods });
    const settings = { profilesDirectory: "/p", confineByDefault: false, thermalPaths: ["/sys/hot"] };
    return containerSecurity({ ...made, imageUser }, settings);
  }

  describe("containerSecurity", () => {
    test("no security context", () => {
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

    test("settings of the container override those of the pod", () => {
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

    test("a user name of the image is resolved by the runtime", () => {
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
});

describe("image-user", () => {
  const { signal } = new AbortController();

  function reader(...answers: Parameters<typeof ImageStatusResponse.fromPartial>[0][]) {
    const asked: string[] = [];
    const read = createImageUserReader({
      images: {
        imageStatus: async ({ image }) => {
          asked.push(image?.image ?? "");
          return ImageStatusResponse.fromPartial(answers.shift() ?? {});
        },
      },
    });
    return { asked, read };
  }

  test.each([
    ["a number", { image: { uid: { value: 101n } } }, { uid: 101 }],
    ["a name", { image: { username: "web" } }, { username: "web" }],
    ["nothing", { image: {} }, { uid: 0 }],
    ["no such image", {}, { uid: 0 }],
  ])("%s", async (_, answer, user) => {
    expect(await reader(answer).read("web:1", signal)).toEqual(user);
  });

  test("an image is looked up once by digest; a missing one is looked up again", async () => {
    const { asked, read } = reader({}, { image: { username: "web" } });
    await read("sha256:1", signal);
    expect(await read("sha256:1", signal)).toEqual({ username: "web" });
    expect(await read("sha256:1", signal)).toEqual({ username: "web" });
    expect(asked).toHaveLength(2);
  });

  test("a tag is looked up again, because it can refer to another image later", async () => {
    const { read } = reader({ image: { username: "web" } }, { image: { username: "other" } });
    await read("web:1", signal);
    expect(await read("web:1", signal)).toEqual({ username: "other" });
  });
});

describe("security-profile", () => {
  type Profile = { type: string; localhostProfile?: string } | undefined;
  const local = { type: "Localhost", localhostProfile: "mine/a.json" };

  describe("seccompProfile", () => {
    const profile = (own: Profile, pods: Profile, confineByDefault = false) => {
      const { pod, container } = makePodWith(
        { securityContext: { seccompProfile: own } },
        { securityContext: { seccompProfile: pods } },
      );
      return seccompProfile(pod, container, { profilesDirectory: "/data/seccomp", confineByDefault });
    };

    test.each([
      ["nothing", undefined, undefined, false, ProfileType.Unconfined],
      ["nothing, confined by default", undefined, undefined, true, ProfileType.RuntimeDefault],
      ["the pod's", undefined, { type: "RuntimeDefault" }, false, ProfileType.RuntimeDefault],
      ["its own", { type: "Unconfined" }, { type: "RuntimeDefault" }, true, ProfileType.Unconfined],
      ["a file", local, undefined, false, ProfileType.Localhost],
    ])("%s", (_, own, pods, confine, profileType) => {
      expect(profile(own, pods, confine)).toEqual({
        profileType,
        localhostRef: profileType === ProfileType.Localhost ? "/data/seccomp/mine/a.json" : "",
      });
    });

    test.each([
      [{ type: "Localhost" }, "localhostProfile must be set if seccompProfile type is Localhost."],
      [{ type: "Localhost", localhostProfile: "../../etc/x" }, "localhostProfile must not contain '..'"],
    ])("%j is refused", (own, message) => {
      expect(() => profile(own, undefined)).toThrow(message);
    });
  });

  describe("appArmorProfile", () => {
    const profile = (own: Profile, annotation?: string, pods?: Profile) => {
      const { pod, container } = makePodWith(
        { securityContext: { appArmorProfile: own } },
        { securityContext: { appArmorProfile: pods } },
      );
      if (annotation !== undefined) {
        pod.metadata.annotations = { "container.apparmor.security.beta.kubernetes.io/c": annotation };
      }
      return appArmorProfile(pod, container);
    };
    const localhost = (localhostRef: string) => ({
      apparmor: { profileType: ProfileType.Localhost, localhostRef },
      apparmorProfile: `localhost/${localhostRef}`,
    });

    test.each([
      ["nothing", undefined, undefined, undefined, {}],
      ["the pod's", undefined, undefined, local, localhost("mine/a.json")],
      ["the annotation before the pod's", undefined, "localhost/noted", local, localhost("noted")],
      [
        "its own before the annotation",
        { type: "Unconfined" },
        "runtime/default",
        local,
        {
          apparmor: { profileType: ProfileType.Unconfined, localhostRef: "" },
          apparmorProfile: "unconfined",
        },
      ],
    ])("%s", (_, own, annotation, pods, expected) => {
      expect(profile(own, annotation, pods)).toEqual(expected);
    });

    test.each([
      [{ type: "Localhost" }, "missing localhost apparmor profile name"],
      [{ type: "Odd" }, 'unknown apparmor profile type: "Odd"'],
    ])("%j is refused", (own, message) => {
      expect(() => profile(own)).toThrow(message);
    });
  });
});
