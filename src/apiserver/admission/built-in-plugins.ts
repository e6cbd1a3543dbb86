import { limitRangeKind } from "../../api/kinds/core/limit-range/kind.ts";
import { namespaceKind } from "../../api/kinds/core/namespace/kind.ts";
import { nodeKind } from "../../api/kinds/core/node/kind.ts";
import { persistentVolumeKind } from "../../api/kinds/core/persistent-volume/kind.ts";
import { persistentVolumeClaimKind } from "../../api/kinds/core/persistent-volume-claim/kind.ts";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import { serviceKind } from "../../api/kinds/core/service/kind.ts";
import { serviceAccountKind } from "../../api/kinds/core/service-account/kind.ts";
import { ingressKind } from "../../api/kinds/networking/ingress/kind.ts";
import { ingressClassKind } from "../../api/kinds/networking/ingress-class/kind.ts";
import { runtimeClassKind } from "../../api/kinds/node/runtime-class/kind.ts";
import { clusterRoleKind } from "../../api/kinds/rbac/cluster-role/kind.ts";
import { clusterRoleBindingKind } from "../../api/kinds/rbac/cluster-role-binding/kind.ts";
import { roleKind } from "../../api/kinds/rbac/role/kind.ts";
import { roleBindingKind } from "../../api/kinds/rbac/role-binding/kind.ts";
import { priorityClassKind } from "../../api/kinds/scheduling/priority-class/kind.ts";
import { storageClassKind } from "../../api/kinds/storage/storage-class/kind.ts";
import type {
  Ingress,
  IngressClass,
  KubeObject,
  LimitRange,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Pod,
  PriorityClass,
  RuntimeClass,
  Service,
  ServiceAccount,
  StorageClass,
} from "../../api/meta/objects.ts";
import { isMirrorPod } from "../../api/pod/pod-state.ts";
import { rejectNodeRequest } from "../auth/node/node-restriction.ts";
import { type EscalationDeps, rejectBinding, rejectRole } from "../auth/rbac/escalation.ts";
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "../auth/rbac/rbac-objects.ts";
import { createLister, type Lister } from "../storage/lister.ts";
import { randomSuffix } from "../storage/object-metadata.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import type { ServiceAddresses } from "../storage/service-addresses.ts";
import { type AdmissionPlugin, type AdmissionRequest, forbidIf, objectOf } from "./admission-chain.ts";
import { applyLimitRangeDefaults, claimLimitProblem, podLimitProblem } from "./limit-ranger.ts";
import { checkNamespaceLifecycle } from "./namespace-lifecycle.ts";
import {
  addProtectionFinalizer,
  applyRuntimeClass,
  checkPriorityClass,
  setDefaultIngressClass,
  setDefaultStorageClass,
  setDefaultTolerations,
  setPriority,
} from "./object-defaults.ts";
import { applyServiceAccount, serviceAccountNameOf } from "./service-account.ts";

export interface PluginDeps {
  readonly objectStore: ObjectStore;
  readonly serviceAddresses: ServiceAddresses;
  readonly escalation: EscalationDeps;
  /** Whether services may have `spec.externalIPs`. */
  readonly externalIPs: ExternalIPs;
}

/** Whether services may have `spec.externalIPs`: with them, any user who may create services can claim any address. */
export type ExternalIPs = "allowed" | "denied";

const onCreate = (operation: string) => operation === "create";
const onWrite = (operation: string) => operation === "create" || operation === "update";
const onWriteOrDelete = (operation: string) => operation !== "connect";

/** The plugins of every API server, in upstream's order. Names are upstream's where upstream has the plugin. */
export function createBuiltInPlugins(deps: PluginDeps): readonly AdmissionPlugin[] {
  const { objectStore, escalation } = deps;
  return [
    createNamespaceLifecycle(createLister(objectStore, namespaceKind)),
    createLimitRanger(createLister(objectStore, limitRangeKind)),
    createServiceAccount(createLister(objectStore, serviceAccountKind)),
    createNodeRestriction({
      pods: createLister(objectStore, podKind),
      nodes: createLister(objectStore, nodeKind),
      authorize: escalation.authorize,
    }),
    createPriority(createLister(objectStore, priorityClassKind)),
    defaultTolerationSeconds,
    createDefaultStorageClass(createLister(objectStore, storageClassKind)),
    storageObjectInUseProtection,
    createRuntimeClass(createLister(objectStore, runtimeClassKind)),
    createDefaultIngressClass(createLister(objectStore, ingressClassKind)),
    ...(deps.externalIPs === "denied" ? [denyServiceExternalIPs] : []),
  ];
}

/** Plugins for what upstream does in the storage of some kinds, after all mutating admission. */
export function createStoragePlugins(
  deps: Pick<PluginDeps, "serviceAddresses" | "escalation">,
): readonly AdmissionPlugin[] {
  return [createServiceAddressAllocation(deps.serviceAddresses), createRbacEscalation(deps.escalation)];
}

function createNamespaceLifecycle(namespaces: Lister<Namespace>): AdmissionPlugin {
  return {
    name: "NamespaceLifecycle",
    handles: onWriteOrDelete,
    // In the mutating phase, as upstream: later plugins read objects of the namespace.
    async mutate({ operation, ref: { resource, namespace, name } }) {
      const needsNamespace = resource.namespaced && operation !== "delete";
      const found = needsNamespace ? await findCurrent(namespaces, "", namespace) : undefined;
      throwIf(checkNamespaceLifecycle({ operation, resource, namespace, name }, found));
    },
  };
}

function createLimitRanger(limitRanges: Lister<LimitRange>): AdmissionPlugin {
  const isDeleting = ({ current }: AdmissionRequest) => current?.metadata.deletionTimestamp !== undefined;
  /** A new pod, or a pod that is resized: other updates cannot change resources. */
  const podOf = ({ operation, ref, subresource, object }: AdmissionRequest): Pod | undefined => {
    if (ref.resource.storedAs !== podKind.resource.storedAs) return undefined;
    const isHandled = operation === "create" ? subresource === "" : subresource === "resize";
    return isHandled ? (object as Pod | undefined) : undefined;
  };
  return {
    name: "LimitRanger",
    handles: onWrite,
    mutate(request) {
      const pod = podOf(request);
      if (!pod || isDeleting(request)) return;
      for (const limitRange of limitRanges.all(request.ref.namespace))
        applyLimitRangeDefaults(pod, limitRange);
    },
    validate(request) {
      const pod = podOf(request);
      const claim = objectOf<PersistentVolumeClaim>(request, persistentVolumeClaimKind);
      if ((!pod && !claim) || isDeleting(request)) return;
      for (const limitRange of limitRanges.all(request.ref.namespace)) {
        if (pod) forbidIf(request, podLimitProblem(pod, limitRange));
        if (claim) forbidIf(request, claimLimitProblem(claim, limitRange));
      }
    },
  };
}

function createServiceAccount(accounts: Lister<ServiceAccount>): AdmissionPlugin {
  return {
    name: "ServiceAccount",
    handles: onCreate,
    async mutate(request) {
      const pod = objectOf<Pod>(request, podKind);
      if (!pod) return;
      const account = isMirrorPod(pod)
        ? undefined
        : await findCurrent(accounts, request.ref.namespace, serviceAccountNameOf(pod));
      forbidIf(request, applyServiceAccount(pod, account, { nameSuffix: randomSuffix() }));
    },
  };
}

function createPriority(classes: Lister<PriorityClass>): AdmissionPlugin {
  return {
    name: "Priority",
    handles: onWrite,
    mutate(request) {
      const pod = request.operation === "create" ? objectOf<Pod>(request, podKind) : undefined;
      if (pod) forbidIf(request, setPriority(pod, [...classes.all()]));
    },
    validate(request) {
      const next = objectOf<PriorityClass>(request, priorityClassKind);
      if (next) forbidIf(request, checkPriorityClass(next, [...classes.all()]));
    },
  };
}

const defaultTolerationSeconds: AdmissionPlugin = {
  name: "DefaultTolerationSeconds",
  handles: onWrite,
  mutate(request) {
    const pod = objectOf<Pod>(request, podKind);
    if (pod) setDefaultTolerations(pod);
  },
};

function createDefaultStorageClass(classes: Lister<StorageClass>): AdmissionPlugin {
  return {
    name: "DefaultStorageClass",
    handles: onCreate,
    mutate(request) {
      const claim = objectOf<PersistentVolumeClaim>(request, persistentVolumeClaimKind);
      if (claim) setDefaultStorageClass(claim, [...classes.all()]);
    },
  };
}

const storageObjectInUseProtection: AdmissionPlugin = {
  name: "StorageObjectInUseProtection",
  handles: onCreate,
  mutate(request) {
    const claim = objectOf(request, persistentVolumeClaimKind);
    if (claim) addProtectionFinalizer(claim, "claim");
    const volume = objectOf(request, persistentVolumeKind);
    if (volume) addProtectionFinalizer(volume, "volume");
  },
};

function createRuntimeClass(classes: Lister<RuntimeClass>): AdmissionPlugin {
  return {
    name: "RuntimeClass",
    handles: onCreate,
    async mutate(request) {
      const pod = objectOf<Pod>(request, podKind);
      if (!pod) return;
      const name = pod.spec?.runtimeClassName;
      const runtimeClass = name === undefined ? undefined : await findCurrent(classes, "", name);
      forbidIf(request, applyRuntimeClass(pod, runtimeClass));
    },
  };
}

function createDefaultIngressClass(classes: Lister<IngressClass>): AdmissionPlugin {
  return {
    name: "DefaultIngressClass",
    handles: onCreate,
    mutate(request) {
      const ingress = objectOf<Ingress>(request, ingressKind);
      if (ingress) setDefaultIngressClass(ingress, [...classes.all()]);
    },
  };
}

/** Rejects external IPs that the stored service does not have. Services that have them can be changed otherwise. */
const denyServiceExternalIPs: AdmissionPlugin = {
  name: "DenyServiceExternalIPs",
  handles: onWrite,
  validate(request) {
    const added = objectOf<Service>(request, serviceKind)?.spec?.externalIPs ?? [];
    const known = new Set((request.current as Service | undefined)?.spec?.externalIPs);
    if (added.some((address) => !known.has(address))) forbidIf(request, externalIPsDenied);
  },
};

const externalIPsDenied =
  "Use of external IPs is denied by admission control; the option --allow-external-ips of the API server allows them";

/** Allocates cluster IPs and node ports, which upstream does in the storage of services. */
function createServiceAddressAllocation(addresses: ServiceAddresses): AdmissionPlugin {
  return {
    name: "ServiceAddresses",
    handles: onWrite,
    mutate(request) {
      const service = objectOf<Service>(request, serviceKind);
      const { current, dryRun } = request;
      return service && addresses.assign(service, { current: current as Service | undefined, dryRun });
    },
  };
}

/** Rejects roles and bindings that grant more than the user has. Upstream does it in the storage of these kinds. */
function createRbacEscalation(deps: EscalationDeps): AdmissionPlugin {
  return {
    name: "RBACEscalation",
    handles: onWrite,
    // Before the object is validated, as upstream: a user without the permissions gets 403 for an invalid role too.
    mutate({ user, ref, subresource, object, current }) {
      if (subresource !== "" || !object) return;
      const { namespace } = ref;
      const write = <T extends KubeObject>() => ({
        user,
        namespace,
        next: object as T,
        ...(current && { current: current as T }),
      });
      switch (ref.resource.storedAs) {
        case roleKind.resource.storedAs:
        case clusterRoleKind.resource.storedAs:
          return throwIf(rejectRole(write<Role | ClusterRole>(), deps));
        case roleBindingKind.resource.storedAs:
        case clusterRoleBindingKind.resource.storedAs:
          return throwIf(rejectBinding(write<RoleBinding | ClusterRoleBinding>(), deps));
      }
    },
  };
}

/** Limits kubelets to their own node, its lease and its pods. */
function createNodeRestriction(deps: {
  readonly pods: Lister<Pod>;
  readonly nodes: Lister<Node>;
  readonly authorize: EscalationDeps["authorize"];
}): AdmissionPlugin {
  const { pods, nodes, authorize } = deps;
  const lookups = { pod: pods.cached, node: (name: string) => nodes.cached("", name), authorize };
  return {
    name: "NodeRestriction",
    handles: onWriteOrDelete,
    // In the mutating phase, as upstream.
    mutate({ operation, ref, subresource, object, current, user }: AdmissionRequest) {
      if (operation === "connect") return;
      const { resource, namespace, name } = ref;
      const write = {
        user,
        operation: nodeOperations[operation],
        group: resource.group,
        resource: resource.plural,
        subresource,
        namespace,
        name,
        ...(object && { object }),
        ...(current && { oldObject: current }),
      };
      throwIf(rejectNodeRequest(write, lookups));
    },
  };
}

const nodeOperations = { create: "CREATE", update: "UPDATE", delete: "DELETE" } as const;

/** Reads the store when the cache lacks the object: another server may just have written it. */
async function findCurrent<T extends KubeObject>(
  lister: Lister<T>,
  namespace: string,
  name: string,
): Promise<T | undefined> {
  return lister.cached(namespace, name) ?? lister.current(namespace, name);
}

function throwIf(error: Error | undefined): void {
  if (error) throw error;
}
