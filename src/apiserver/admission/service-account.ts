import type * as k8s from "@kubernetes/client-node";
import type { Container, KubeObject, Pod, PodSpec, Wire } from "../../api/meta/objects.ts";
import { containersOf } from "../../api/pod/pod-containers.ts";
import { isMirrorPod, tokenVolumePrefix } from "../../api/pod/pod-state.ts";

export type ServiceAccount = KubeObject & Wire<k8s.V1ServiceAccount>;

const tokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
/** One hour and a margin, as upstream. The odd number distinguishes these tokens from those that users request. */
const tokenSeconds = 3607;

/** Name of the service account of a new pod. */
export function serviceAccountNameOf({ spec }: Pod): string {
  return spec?.serviceAccountName || "default";
}

/**
 * Sets the service account of a new pod, mounts its token and adds its image pull secrets. Returns the reason when the
 * pod is forbidden. `nameSuffix` makes the name of the token's volume unique.
 */
export function applyServiceAccount(
  pod: Pod,
  account: ServiceAccount | undefined,
  { nameSuffix }: { readonly nameSuffix: string },
): string | undefined {
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  // The list may be missing: validation, which reports that, runs later.
  spec.containers ??= [];
  if (isMirrorPod(pod)) return mirrorPodProblem(spec);
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

function mirrorPodProblem(spec: PodSpec): string | undefined {
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
