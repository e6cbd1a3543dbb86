import { describe, expect, test } from "vitest";
import { SecurityProfile_ProfileType as ProfileType } from "../../cri/generated/cri.ts";
import { makePodWith } from "./make-pod.fixture.ts";
import { appArmorProfile, seccompProfile } from "./security-profile.ts";

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
      { apparmor: { profileType: ProfileType.Unconfined, localhostRef: "" }, apparmorProfile: "unconfined" },
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
