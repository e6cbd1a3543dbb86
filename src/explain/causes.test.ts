import { describe, expect, test } from "vitest";
import type { Pod } from "../api/meta/objects.ts";
import { causes, describeCause, type Failure, findCause, recoveryOf, setsFailingToStart } from "./causes.ts";

const pod: Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "shop" },
  spec: {
    nodeName: "n",
    containers: [{ name: "c", image: "web:1", resources: { limits: { memory: "16Mi" } } }],
  },
};
const at = { pod, container: pod.spec?.containers[0] };

/** Messages of Kindling's runtime and kubelet, of containerd, and of CRI-O 1.36.3 with runc, each copied from a run. */
const samples: readonly (Failure & { cause: string; permanent: boolean; fix: RegExp; from: string })[] = [
  {
    from: "every kubelet",
    cause: "InvalidImageName",
    reason: "InvalidImageName",
    message: 'Failed to apply default image tag "web:1:2": couldn\'t parse image name "web:1:2"',
    permanent: true,
    fix: /^correct the name: kubectl set image pod\/p -n shop c=IMAGE$/,
  },
  {
    from: "every kubelet",
    cause: "ImageNotPresent",
    reason: "ErrImageNeverPull",
    message: 'Container image "web:1" is not present with pull policy of Never',
    permanent: true,
    fix: /load web:1 on node n/,
  },
  {
    from: "Kindling",
    cause: "ImageNotFound",
    reason: "ErrImagePull",
    message: "127.0.0.1:5000 does not have web (manifests/1); check name and tag",
    permanent: false,
    fix: /^correct the name or push the image/,
  },
  {
    from: "containerd, third attempt",
    cause: "ImageNotFound",
    reason: "ErrImagePull",
    message:
      'failed to pull and unpack image "127.0.0.1:5000/web:1": failed to resolve reference "127.0.0.1:5000/web:1": 127.0.0.1:5000/web:1: not found',
    attempts: 3,
    permanent: true,
    fix: /push the image/,
  },
  {
    from: "CRI-O, after five minutes",
    cause: "ImageNotFound",
    reason: "ImagePullBackOff",
    message:
      'Back-off pulling image "127.0.0.1:5000/web:1": ErrImagePull: unable to pull image or OCI artifact: pull image err: initializing source docker://127.0.0.1:5000/web:1: reading manifest 1 in 127.0.0.1:5000/web: manifest unknown; artifact err: image reference: get manifest from ref: create image source: reading manifest 1 in 127.0.0.1:5000/web: manifest unknown',
    failingMs: 300_000,
    permanent: true,
    fix: /push the image/,
  },
  {
    from: "Kindling",
    cause: "ImagePullDenied",
    reason: "ErrImagePull",
    message: "registry.test rejects web (manifests/1): it needs credentials, or does not exist",
    attempts: 9,
    permanent: false,
    fix: /check spec.imagePullSecrets/,
  },
  {
    from: "containerd",
    cause: "ImagePullDenied",
    reason: "ErrImagePull",
    message:
      'failed to pull and unpack image "docker.io/library/web:1": failed to resolve reference "docker.io/library/web:1": pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed',
    permanent: false,
    fix: /check spec.imagePullSecrets/,
  },
  {
    from: "containerd 1.6 without credentials",
    cause: "ImagePullDenied",
    reason: "ErrImagePull",
    message:
      'failed to pull and unpack image "127.0.0.1:5000/web:1": failed to resolve reference "127.0.0.1:5000/web:1": pulling from host 127.0.0.1:5000 failed with status code [manifests 1]: 401 Unauthorized',
    permanent: false,
    fix: /check spec.imagePullSecrets/,
  },
  {
    from: "containerd with credentials that have no access",
    cause: "ImagePullDenied",
    reason: "ErrImagePull",
    message:
      'failed to pull and unpack image "127.0.0.1:5000/web:1": failed to resolve reference "127.0.0.1:5000/web:1": unexpected status from HEAD request to http://127.0.0.1:5000/v2/web/manifests/1: 403 Forbidden',
    permanent: false,
    fix: /check spec.imagePullSecrets/,
  },
  {
    from: "CRI-O without credentials",
    cause: "ImagePullDenied",
    reason: "ErrImagePull",
    message:
      "unable to pull image or OCI artifact: pull image err: initializing source docker://127.0.0.1:5000/web:1: reading manifest 1 in 127.0.0.1:5000/web: unauthorized; artifact err: image reference: get manifest from ref: create image source: reading manifest 1 in 127.0.0.1:5000/web: unauthorized",
    permanent: false,
    fix: /check spec.imagePullSecrets/,
  },
  {
    from: "CRI-O with credentials that have no access",
    cause: "ImagePullDenied",
    reason: "ErrImagePull",
    message:
      "unable to pull image or OCI artifact: pull image err: initializing source docker://127.0.0.1:5000/web:1: reading manifest 1 in 127.0.0.1:5000/web: denied; artifact err: image reference: get manifest from ref: create image source: reading manifest 1 in 127.0.0.1:5000/web: denied",
    permanent: false,
    fix: /check spec.imagePullSecrets/,
  },
  {
    from: "Kindling",
    cause: "ImagePullStalled",
    reason: "ErrImagePull",
    message:
      "pulling web:1: no progress, the registry sent nothing for 10 s; check that it is up and reachable",
    permanent: false,
    fix: /check the registry and the network between it and node n/,
  },
  {
    from: "containerd",
    cause: "ImagePullStalled",
    reason: "ErrImagePull",
    message: 'failed to pull and unpack image "127.0.0.1:5000/web:1": context canceled',
    permanent: false,
    fix: /check the registry and the network/,
  },
  {
    from: "CRI-O, whose pull_progress_timeout cancels the pull",
    cause: "ImagePullStalled",
    reason: "ErrImagePull",
    message:
      'rpc error: code = Canceled desc = unable to pull image: writing blob: storing blob to file "/var/tmp/container_images_storage1234567/1": happened during read: context canceled',
    permanent: false,
    fix: /check the registry and the network/,
  },
  {
    from: "Kindling",
    cause: "RegistryUnreachable",
    reason: "ErrImagePull",
    message: "cannot reach 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1",
    permanent: false,
    fix: /check that node n reaches the registry/,
  },
  {
    from: "containerd",
    cause: "RegistryUnreachable",
    reason: "ErrImagePull",
    message:
      'failed to resolve reference "registry.test/web:1": failed to do request: Head "https://registry.test/v2/web/manifests/1": dial tcp: lookup registry.test: no such host',
    permanent: false,
    fix: /check that node n reaches the registry/,
  },
  {
    from: "CRI-O",
    cause: "RegistryUnreachable",
    reason: "RegistryUnavailable",
    message:
      'unable to pull image: initializing source docker://127.0.0.1:1/web:1: pinging container registry 127.0.0.1:1: Get "https://127.0.0.1:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused',
    permanent: false,
    fix: /check that node n reaches the registry/,
  },
  {
    from: "CRI-O",
    cause: "RegistryUnreachable",
    reason: "ErrImagePull",
    message:
      'unable to pull image: initializing source docker://registry.invalid/web:1: pinging container registry registry.invalid: Get "https://registry.invalid/v2/": dial tcp: lookup registry.invalid on 192.0.2.53:53: no such host',
    permanent: false,
    fix: /check that node n reaches the registry/,
  },
  {
    from: "a kubelet that shortens the message",
    cause: "ImagePullFailed",
    reason: "ImagePullBackOff",
    message: 'Back-off pulling image "web:1"',
    permanent: false,
    fix: /imagePullSecrets/,
  },
  {
    from: "every kubelet",
    cause: "MissingConfigObject",
    reason: "CreateContainerConfigError",
    message: 'configmap "settings" not found',
    permanent: true,
    fix: /^create it: kubectl create configmap settings -n shop --from-literal=KEY=VALUE$/,
  },
  {
    from: "every kubelet",
    cause: "MissingConfigKey",
    reason: "CreateContainerConfigError",
    message: "couldn't find key greeting in ConfigMap shop/settings",
    permanent: true,
    fix: /^add the key greeting: kubectl edit configmap settings -n shop$/,
  },
  {
    from: "every kubelet",
    cause: "RunsAsRoot",
    reason: "CreateContainerConfigError",
    message: "container has runAsNonRoot and image will run as root",
    permanent: true,
    fix: /runAsUser of container c/,
  },
  {
    from: "every kubelet",
    cause: "InvalidConfig",
    reason: "CreateContainerConfigError",
    message: 'failed to prepare subPath for volumeMount "v" of container "c"',
    permanent: true,
    fix: /kubectl describe pod p -n shop/,
  },
  {
    from: "Kindling",
    cause: "MissingBinary",
    reason: "RunContainerError",
    message: 'creating container 4f2: exec: "nothing": executable file not found in $PATH',
    permanent: true,
    fix: /^the image has no nothing: correct the command of container c/,
  },
  {
    from: "containerd with runc, after the first start",
    cause: "MissingBinary",
    reason: "StartError",
    message:
      'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "/nothing": stat /nothing: no such file or directory: unknown',
    ranMs: 0,
    permanent: true,
    fix: /^the image has no \/nothing/,
  },
  {
    from: "CRI-O with runc, from the PATH",
    cause: "MissingBinary",
    reason: "CreateContainerError",
    message:
      'container create failed: time="2026-11-18T15:04:47Z" level=error msg="runc create failed: unable to start container process: exec: \\"nothing\\": executable file not found in $PATH"\n',
    permanent: true,
    fix: /^the image has no nothing: correct the command/,
  },
  {
    from: "CRI-O with runc, by an absolute path",
    cause: "MissingBinary",
    reason: "CreateContainerError",
    message:
      'container create failed: time="2026-11-18T15:04:47Z" level=error msg="runc create failed: unable to start container process: exec: \\"/nothing\\": stat /nothing: no such file or directory"\n',
    permanent: true,
    fix: /^the image has no \/nothing: correct the command/,
  },
  {
    from: "CRI-O with crun, from crun's source",
    cause: "MissingBinary",
    reason: "CreateContainerError",
    message:
      "container create failed: executable file `nothing` not found in $PATH: No such file or directory",
    permanent: true,
    fix: /^the image has no nothing/,
  },
  {
    from: "Kindling",
    cause: "MissingCommand",
    reason: "CreateContainerError",
    message: "neither the container nor its image specifies a command",
    permanent: true,
    fix: /give container c a command/,
  },
  {
    from: "CRI-O",
    cause: "MissingCommand",
    reason: "CreateContainerError",
    message: "no command specified",
    permanent: true,
    fix: /give container c a command/,
  },
  {
    from: "containerd",
    cause: "MissingCommand",
    reason: "CreateContainerError",
    message: 'failed to generate container "4f2" spec: failed to generate spec: no command specified',
    permanent: true,
    fix: /give container c a command/,
  },
  {
    from: "CRI-O, which rejects limits below 12 MiB",
    cause: "MemoryLimitTooLow",
    reason: "FailedCreatePodSandBox",
    message:
      "Failed to create pod sandbox: pod set memory limit 1048576 too low; should be at least 12582912 bytes",
    permanent: true,
    fix: /^raise resources.limits.memory to at least 12Mi in a new pod$/,
  },
  {
    from: "every kubelet, also with CRI-O, at start",
    cause: "OutOfMemory",
    reason: "OOMKilled",
    message: "",
    ranMs: 800,
    permanent: true,
    fix: /^raise resources.limits.memory of container c above 16Mi$/,
  },
  {
    from: "every kubelet, after an hour",
    cause: "OutOfMemory",
    reason: "OOMKilled",
    message: "",
    ranMs: 3_600_000,
    permanent: false,
    fix: /above 16Mi$/,
  },
  {
    from: "containerd with runc",
    cause: "OutOfMemory",
    reason: "RunContainerError",
    message:
      "failed to create containerd task: OCI runtime create failed: runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?): unknown",
    permanent: true,
    fix: /above 16Mi$/,
  },
  {
    from: "Kindling with runc",
    cause: "OutOfMemory",
    reason: "CreateContainerError",
    message:
      "creating container <id>: runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?)",
    permanent: true,
    fix: /above 16Mi$/,
  },
  {
    from: "every kubelet",
    cause: "PostStartHookFailed",
    reason: "FailedPostStartHook",
    message: "PostStartHook failed",
    permanent: false,
    fix: /correct lifecycle.postStart of container c/,
  },
  {
    from: "every runtime",
    cause: "ContainerNotCreated",
    reason: "CreateContainerError",
    message: "context deadline exceeded",
    permanent: false,
    fix: /kubectl describe pod p -n shop/,
  },
  {
    from: "every kubelet",
    cause: "ContainerExits",
    reason: "CrashLoopBackOff",
    message: "back-off 20s restarting failed container=c",
    permanent: false,
    fix: /kubectl logs p -n shop -c c --previous/,
  },
  {
    from: "every kubelet",
    cause: "MissingVolumeObject",
    reason: "FailedMount",
    message: 'MountVolume.SetUp failed for volume "v" : secret "keys" not found',
    permanent: true,
    fix: /^create it: kubectl create secret generic keys -n shop/,
  },
  {
    from: "every kubelet",
    cause: "MissingVolumeKey",
    reason: "FailedMount",
    message: 'MountVolume.SetUp failed for volume "v" : references non-existent config key: app.conf',
    permanent: true,
    fix: /^add the key app.conf/,
  },
  {
    from: "Kindling",
    cause: "UnsupportedVolume",
    reason: "FailedMount",
    message: 'MountVolume.SetUp failed for volume "v" : nfs volumes are not supported by this kubelet',
    permanent: true,
    fix: /another type of volume/,
  },
  {
    from: "upstream's kubelet",
    cause: "UnsupportedVolume",
    reason: "FailedMount",
    message: 'MountVolume.SetUp failed for volume "v" : failed to get Plugin: no volume plugin matched',
    permanent: true,
    fix: /another type of volume/,
  },
  {
    from: "every kubelet",
    cause: "VolumeNotReady",
    reason: "FailedAttachVolume",
    message: 'Multi-Attach error for volume "v"',
    permanent: false,
    fix: /check its volumes/,
  },
  {
    from: "Kindling and containerd",
    cause: "MissingRuntimeHandler",
    reason: "FailedCreatePodSandBox",
    message:
      'Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "kata" is configured',
    permanent: true,
    fix: /correct spec.runtimeClassName/,
  },
  {
    from: "CRI-O",
    cause: "MissingRuntimeHandler",
    reason: "FailedCreatePodSandBox",
    message:
      "Failed to create pod sandbox: failed to find runtime handler kata from runtime list map[runc:0x300942242540]",
    permanent: true,
    fix: /correct spec.runtimeClassName/,
  },
  {
    from: "every runtime",
    cause: "SandboxNotCreated",
    reason: "FailedCreatePodSandBox",
    message: 'plugin type="bridge" failed (add): no IP addresses available in range set',
    permanent: false,
    fix: /check the network plugin/,
  },
];

describe("the table of causes", () => {
  test.each(samples)("$cause, as reported by $from", ({ cause, permanent, fix, ...failure }) => {
    expect(findCause(failure)?.name).toBe(cause);
    expect(recoveryOf(failure)).toBe(permanent ? "permanent" : "transient");
    expect(describeCause(failure, at).fix).toMatch(fix);
  });

  test("has a sample for every cause", () => {
    expect(new Set(samples.map(({ cause }) => cause))).toEqual(new Set(causes.map(({ name }) => name)));
  });

  test.each([
    "ImageNotFound",
    "ImagePullDenied",
    "ImagePullStalled",
    "RegistryUnreachable",
    "MissingBinary",
    "MissingCommand",
    "OutOfMemory",
    "MissingRuntimeHandler",
  ])("has samples of %s from each runtime", (cause) => {
    const from = samples.filter((sample) => sample.cause === cause).map((sample) => sample.from);
    for (const runtime of ["Kindling", "containerd", "CRI-O"]) expect(from.join(", ")).toContain(runtime);
  });

  test.each(["", "SomethingNew", "constructor"])("treats the unknown reason %j as transient", (reason) => {
    expect(recoveryOf({ reason, message: "" })).toBe("transient");
    expect(setsFailingToStart(reason)).toBe(false);
  });
});

describe("3815-4 FailingToStart", () => {
  test("is set for three reasons only", () => {
    const reasons = new Set(causes.flatMap(({ reasons }) => reasons).filter(setsFailingToStart));
    expect([...reasons]).toEqual(["InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"]);
  });

  test.each([
    "ErrImagePull",
    "ImagePullBackOff",
    "RegistryUnavailable",
    "CrashLoopBackOff",
    "RunContainerError",
  ])("is not set for %s", (reason) => expect(setsFailingToStart(reason)).toBe(false));

  test("is set for a reason in all of its rows or in none", () => {
    for (const { reasons, setsFailingToStart: sets } of causes)
      for (const reason of reasons) expect(setsFailingToStart(reason)).toBe(sets);
  });
});
