import type * as k8s from "@kubernetes/client-node";
import { isMirrorPod } from "../../api/mirror-pod.ts";
import type { Container, KubeObject, Pod, PodSpec, Wire } from "../../api/objects.ts";
import { containersOf } from "../../api/pod-containers.ts";

export type ServiceAccount = KubeObject & Wire<k8s.V1ServiceAccount>;

const tokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const tokenVolumePrefix = "kube-api-access-";
/** An hour, and a little for the way: the odd number tells these tokens from those that users ask for. */
const tokenSeconds = 3607;

/** The account that a new pod runs as. */
export function serviceAccountNameOf({ spec }: Pod): string {
  return spec?.serviceAccountName || "default";
}

/**
 * Gives a new pod its account, the token of that account and its image pull secrets. Returns why the pod is
 * forbidden, if it is. `nameSuffix` makes the name of the token's volume unique.
 */
export function admitServiceAccount(
  pod: Pod,
  account: ServiceAccount | undefined,
  { nameSuffix }: { readonly nameSuffix: string },
): string | undefined {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  // Nobody has looked yet whether there are any: that is said by validation, which comes later.
  spec.containers ??= [];
  if (isMirrorPod(pod)) return refuseMirrorPod(spec);
  const name = serviceAccountNameOf(pod);
  if (!account) {
    return `error looking up service account ${pod.metadata.namespace}/${name}: serviceaccount "${name}" not found`;
  }
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
  if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) {
    mountToken(spec, nameSuffix);
  }
  if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
    spec.imagePullSecrets = account.imagePullSecrets.map(({ name }) => ({ name }));
  }
  return undefined;
}

function refuseMirrorPod(spec: PodSpec): string | undefined {
  if (spec.serviceAccountName) return "a mirror pod may not reference service accounts";
  const sources = spec.volumes?.flatMap(({ projected }) => projected?.sources ?? []) ?? [];
  const containers = containersOf(spec);
  const usesSecrets =
    spec.imagePullSecrets?.length ||
    spec.volumes?.some(({ secret }) => secret) ||
    sources.some(({ secret }) => secret) ||
    containers.some(
      ({ env, envFrom }) =>
        env?.some(({ valueFrom }) => valueFrom?.secretKeyRef) || envFrom?.some(({ secretRef }) => secretRef),
    );
  if (usesSecrets) return "a mirror pod may not reference secrets";
  if (sources.some(({ serviceAccountToken }) => serviceAccountToken)) {
    return "a mirror pod may not use ServiceAccountToken volume projections";
  }
  return undefined;
}

function mountToken(spec: PodSpec, nameSuffix: string): void {
  const existing = spec.volumes?.find((volume) => volume.name.startsWith(tokenVolumePrefix));
  const name = existing?.name ?? tokenVolumePrefix + nameSuffix;
  const lacking = containersOf(spec).filter(lacksToken);
  for (const container of lacking) {
    container.volumeMounts ??= [];
    container.volumeMounts.push({ name, readOnly: true, mountPath: tokenMountPath });
  }
  if (lacking.length === 0 || existing) return;
  spec.volumes ??= [];
  spec.volumes.push({ name, projected: tokenSources() });
}

function lacksToken({ volumeMounts }: Container): boolean {
  return !volumeMounts?.some(({ mountPath }) => mountPath === tokenMountPath);
}

function tokenSources(): k8s.V1ProjectedVolumeSource {
  return {
    sources: [
      { serviceAccountToken: { expirationSeconds: tokenSeconds, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
    defaultMode: 0o644,
  };
}
