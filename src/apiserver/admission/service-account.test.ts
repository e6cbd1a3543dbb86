import { describe, expect, test } from "vitest";
import type { Pod, PodSpec } from "../../api/meta/objects.ts";
import { makePod, sentences } from "../../api/pod/pod.fixture.ts";
import { validatePod } from "../../api/pod/validation/pod.ts";
import { applyServiceAccount, type ServiceAccount, serviceAccountNameOf } from "./service-account.ts";

const account: ServiceAccount = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
const options = { nameSuffix: "abcde" };
const mount = {
  name: "kube-api-access-abcde",
  readOnly: true,
  mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
};

test("a pod gets the default account and its token in every container, and is still valid", () => {
  const pod = makePod({ initContainers: [{ name: "init", image: "a" }] });
  expect(serviceAccountNameOf(pod)).toBe("default");
  expect(applyServiceAccount(pod, account, options)).toBeUndefined();
  expect(pod.spec).toMatchObject({
    serviceAccountName: "default",
    serviceAccount: "default",
    initContainers: [{ volumeMounts: [mount] }],
    containers: [{ volumeMounts: [mount] }],
    volumes: [
      {
        name: "kube-api-access-abcde",
        projected: {
          defaultMode: 420,
          sources: [
            { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
            { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
            {
              downwardAPI: {
                items: [
                  { path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } },
                ],
              },
            },
          ],
        },
      },
    ],
  });
  expect(sentences(validatePod(pod))).toEqual([]);
});

describe("the token", () => {
  test.each<[string, Partial<PodSpec>, Partial<ServiceAccount>, boolean]>([
    ["by default", {}, {}, true],
    ["not for a pod with automount off", { automountServiceAccountToken: false }, {}, false],
    ["not for an account with automount off", {}, { automountServiceAccountToken: false }, false],
    [
      "the pod decides",
      { automountServiceAccountToken: true },
      { automountServiceAccountToken: false },
      true,
    ],
  ])("%s", (_, spec, fields, mounted) => {
    const pod = makePod(spec);
    applyServiceAccount(pod, { ...account, ...fields }, options);
    expect(pod.spec?.volumes?.length ?? 0).toBe(mounted ? 1 : 0);
  });

  test("is not mounted over an existing mount", () => {
    const own = { name: "own", mountPath: mount.mountPath };
    const pod = makePod({ containers: [{ name: "a", image: "b", volumeMounts: [own] }] });
    applyServiceAccount(pod, account, options);
    expect(pod.spec?.containers[0]?.volumeMounts).toEqual([own]);
    expect(pod.spec?.volumes).toBeUndefined();
  });

  test("uses an existing token volume", () => {
    const pod = makePod({ volumes: [{ name: "kube-api-access-mine", emptyDir: {} }] });
    applyServiceAccount(pod, account, options);
    expect(pod.spec?.volumes).toHaveLength(1);
    expect(pod.spec?.containers[0]?.volumeMounts?.[0]?.name).toBe("kube-api-access-mine");
  });
});

test("image pull secrets are taken from the account unless the pod sets them", () => {
  const withSecrets = { ...account, imagePullSecrets: [{ name: "regcred" }] };
  const pod = makePod();
  applyServiceAccount(pod, withSecrets, options);
  expect(pod.spec?.imagePullSecrets).toEqual([{ name: "regcred" }]);
  const own = makePod({ imagePullSecrets: [{ name: "mine" }] });
  applyServiceAccount(own, withSecrets, options);
  expect(own.spec?.imagePullSecrets).toEqual([{ name: "mine" }]);
});

test("rejects a pod whose service account does not exist", () => {
  expect(applyServiceAccount(makePod({ serviceAccountName: "robot" }), undefined, options)).toBe(
    'error looking up service account default/robot: serviceaccount "robot" not found',
  );
});

describe("mirror pods", () => {
  function makeMirror(spec: Partial<PodSpec>): Pod {
    const pod = makePod({ nodeName: "n", ...spec });
    pod.metadata.annotations = { "kubernetes.io/config.mirror": "x" };
    return pod;
  }

  test.each<[Partial<PodSpec>, string | undefined]>([
    [{}, undefined],
    [{ serviceAccountName: "a" }, "a mirror pod may not reference service accounts"],
    [{ volumes: [{ name: "a", secret: { secretName: "b" } }] }, "a mirror pod may not reference secrets"],
    [
      { volumes: [{ name: "a", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] },
      "a mirror pod may not use ServiceAccountToken volume projections",
    ],
  ])("%j", (spec, expected) => {
    const pod = makeMirror(spec);
    expect(applyServiceAccount(pod, undefined, options)).toBe(expected);
    expect(pod.spec?.containers[0]?.volumeMounts).toBeUndefined();
  });
});
