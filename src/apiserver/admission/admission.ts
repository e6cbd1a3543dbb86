import type * as k8s from "@kubernetes/client-node";
import { isMirrorPod } from "../../api/mirror-pod.ts";
import type { KubeObject, Namespace, Node, Pod, Wire } from "../../api/objects.ts";
import { apiVersionOf } from "../../api/resources.ts";
import { forbidden } from "../../api/status-error.ts";
import { refuseNodeRequest } from "../auth/node/node-restriction.ts";
import { type EscalationDeps, refuseBinding, refuseRole } from "../auth/rbac/escalation.ts";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../auth/rbac/objects.ts";
import { lookupOf, type ObjectLookup } from "../registry/object-lookup.ts";
import type { Registry } from "../registry/registry.ts";
import type { ServiceAddresses } from "../service/service-addresses.ts";
import type { PriorityClass } from "../strategy/priority-class.ts";
import type { RuntimeClass } from "../strategy/runtime-class.ts";
import { randomSuffix } from "../verb/object-metadata.ts";
import type { AdmissionRequest, Admit } from "./admit.ts";
import { admitDefaultStorageClass } from "./default-storage-class.ts";
import { admitDefaultTolerations } from "./default-tolerations.ts";
import { refuseByNamespace } from "./namespace-lifecycle.ts";
import { admitPriority, admitPriorityClass } from "./priority.ts";
import { admitRuntimeClass } from "./runtime-class.ts";
import { admitServiceAccount, type ServiceAccount, serviceAccountNameOf } from "./service-account.ts";
import { admitStorageProtection } from "./storage-protection.ts";

type StorageClass = KubeObject & Wire<k8s.V1StorageClass>;
type Claim = KubeObject & Wire<k8s.V1PersistentVolumeClaim>;
type Service = KubeObject & Wire<k8s.V1Service>;

interface AdmissionDeps extends EscalationDeps {
  readonly registry: Registry;
  readonly serviceAddresses: ServiceAddresses;
}

/** What upstream's admission plugins do, for the kinds they do it to. */
export function createAdmission(deps: AdmissionDeps): Admit {
  const { registry, serviceAddresses } = deps;
  const namespaces = lookupOf<Namespace>(registry, "", "namespaces");
  const nodes = lookupOf<Node>(registry, "", "nodes");
  const pods = lookupOf<Pod>(registry, "", "pods");
  const accounts = lookupOf<ServiceAccount>(registry, "", "serviceaccounts");
  const priorityClasses = lookupOf<PriorityClass>(registry, "scheduling.k8s.io", "priorityclasses");
  const runtimeClasses = lookupOf<RuntimeClass>(registry, "node.k8s.io", "runtimeclasses");
  const storageClasses = lookupOf<StorageClass>(registry, "storage.k8s.io", "storageclasses");

  async function admitPod(request: AdmissionRequest, pod: Pod): Promise<void> {
    admitDefaultTolerations(pod);
    if (request.operation === "update") return;
    const namespace = request.ref.namespace;
    const account = isMirrorPod(pod) ? undefined : await find(accounts, namespace, serviceAccountNameOf(pod));
    refuseIf(request, admitServiceAccount(pod, account, { nameSuffix: randomSuffix() }));
    refuseIf(request, admitPriority(pod, [...priorityClasses.all()]));
    const { runtimeClassName } = pod.spec ?? {};
    const runtimeClass =
      runtimeClassName === undefined ? undefined : await find(runtimeClasses, "", runtimeClassName);
    refuseIf(request, admitRuntimeClass(pod, runtimeClass));
  }

  /** By kind, for whole objects; subresources other than status come through here with none of these. */
  const byKind: Readonly<
    Record<string, (request: AdmissionRequest, object: KubeObject) => void | Promise<void>>
  > = {
    "v1 Pod": (request, object) => admitPod(request, object as Pod),
    "v1 Service": ({ current, dryRun }, object) =>
      serviceAddresses.assign(object as Service, { current: current as Service | undefined, dryRun }),
    "v1 PersistentVolume": (request, object) => {
      if (request.operation === "create") admitStorageProtection(object, "volume");
    },
    "v1 PersistentVolumeClaim": (request, object) => {
      if (request.operation !== "create") return;
      admitDefaultStorageClass(object as Claim, [...storageClasses.all()]);
      admitStorageProtection(object, "claim");
    },
    "scheduling.k8s.io/v1 PriorityClass": (request, object) =>
      refuseIf(request, admitPriorityClass(object as PriorityClass, [...priorityClasses.all()])),
    "rbac.authorization.k8s.io/v1 Role": (request) => throwIf(refuseRole(rbacWrite<Role>(request), deps)),
    "rbac.authorization.k8s.io/v1 ClusterRole": (request) =>
      throwIf(refuseRole(rbacWrite<ClusterRole>(request), deps)),
    "rbac.authorization.k8s.io/v1 RoleBinding": (request) =>
      throwIf(refuseBinding(rbacWrite<RoleBinding>(request), deps)),
    "rbac.authorization.k8s.io/v1 ClusterRoleBinding": (request) =>
      throwIf(refuseBinding(rbacWrite<ClusterRoleBinding>(request), deps)),
  };

  return async (request) => {
    const { ref, operation, subresource, object, current, user } = request;
    const { resource, namespace, name } = ref;
    const home =
      resource.namespaced && operation !== "delete" ? await find(namespaces, "", namespace) : undefined;
    throwIf(refuseByNamespace({ operation, resource, namespace, name }, home));
    const admitKind =
      subresource === "" && object ? byKind[`${apiVersionOf(resource)} ${resource.kind}`] : undefined;
    if (object) await admitKind?.(request, object);
    throwIf(
      refuseNodeRequest(
        {
          user,
          operation: operations[operation],
          group: resource.group,
          resource: resource.plural,
          subresource,
          namespace,
          name,
          ...(object && { object }),
          ...(current && { oldObject: current }),
        },
        { pod: pods.cached, node: (nodeName) => nodes.cached("", nodeName), authorize: deps.authorize },
      ),
    );
  };
}

const operations = { create: "CREATE", update: "UPDATE", delete: "DELETE" } as const;

/** The cache answers almost always; what it lacks may just have been written through another server. */
async function find<T extends KubeObject>(
  lookup: ObjectLookup<T>,
  namespace: string,
  name: string,
): Promise<T | undefined> {
  return lookup.cached(namespace, name) ?? lookup.current(namespace, name);
}

function rbacWrite<T extends KubeObject>({ user, ref, object, current }: AdmissionRequest) {
  return { user, namespace: ref.namespace, next: object as T, ...(current && { current: current as T }) };
}

function refuseIf({ ref }: AdmissionRequest, detail: string | undefined): void {
  if (detail) throw forbidden(ref.resource, ref.name, detail);
}

function throwIf(error: Error | undefined): void {
  if (error) throw error;
}
