import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { persistentVolumeKind } from "../../api/kinds/core/persistent-volume/kind.ts";
import { podKind } from "../../api/kinds/core/pod/kind.ts";
import { clusterRoleKind } from "../../api/kinds/rbac/cluster-role/kind.ts";
import { clusterRoleBindingKind } from "../../api/kinds/rbac/cluster-role-binding/kind.ts";
import { roleKind } from "../../api/kinds/rbac/role/kind.ts";
import { roleBindingKind } from "../../api/kinds/rbac/role-binding/kind.ts";
import { parseFieldSelector, requiredFieldValue } from "../../api/meta/field-selector.ts";
import type { Pod } from "../../api/meta/objects.ts";
import { StatusError, unauthorized } from "../../api/meta/status-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { RequestInfo } from "../request/request-info.ts";
import { mastersGroup, type UserInfo } from "../request/user-info.ts";
import { createLister } from "../storage/lister.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import { type Attributes, type Authorize, type Decision, forbiddenRequest } from "./attributes.ts";
import { type Authentication, authenticate } from "./authentication/authenticate.ts";
import { impersonate, readImpersonation } from "./authentication/impersonate.ts";
import { createNodeAuthorizer } from "./node/node-authorizer.ts";
import { createNodeGraph, type NodeGraph } from "./node/node-graph.ts";
import type { PersistentVolume } from "./node/pod-references.ts";
import { createRbacAuthorizer, type RbacAuthorizer } from "./rbac/rbac-authorizer.ts";
import type { ClusterRole, ClusterRoleBinding, RbacSource, Role, RoleBinding } from "./rbac/rbac-objects.ts";
import type { AuthenticateToken } from "./token/authenticate-token.ts";

/** Authenticates and authorizes requests. */
export interface RequestAuthorizer {
  /**
   * Returns the user of a request that was received over TLS. Throws 401 and 403. Returns a promise only when a token
   * has to be looked up.
   */
  authenticateAndAuthorize(
    request: IncomingMessage,
    info: RequestInfo,
    query: URLSearchParams,
  ): UserInfo | Promise<UserInfo>;
  /** Authorizes a request of a component in this process, whose user is known. Throws 403. */
  authorize(user: UserInfo, info: RequestInfo, query: URLSearchParams): void;
  readonly decide: Authorize;
  readonly rbac: RbacAuthorizer;
  readonly rbacSource: RbacSource;
}

interface RequestAuthorizerDeps {
  readonly objectStore: ObjectStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly authenticateToken: AuthenticateToken;
  readonly apiAudiences: readonly string[];
}

export function createRequestAuthorizer(deps: RequestAuthorizerDeps): RequestAuthorizer {
  const { objectStore, clock, logger, authenticateToken, apiAudiences } = deps;
  const rbacSource = createRbacSource(objectStore);
  const rbac = createRbacAuthorizer(rbacSource);
  for (const kind of [roleKind, roleBindingKind, clusterRoleKind, clusterRoleBindingKind]) {
    createLister(objectStore, kind).onChange((before, after) => {
      rbac.changed((after ?? before)?.metadata.namespace);
    });
  }
  const decide = createAuthorizer(createNodeAuthorizer(createLiveGraph(objectStore)), rbac);

  function authenticateAndAuthorize(request: IncomingMessage, info: RequestInfo, query: URLSearchParams) {
    const socket = request.socket as TLSSocket;
    const { authorization } = request.headers;
    const caller = authenticate(
      { socket, authorization },
      { authenticateToken, apiAudiences, now: clock.now },
    );
    if (caller instanceof Promise)
      return caller.then((known) => authorizeCaller(known, request, info, query));
    return authorizeCaller(caller, request, info, query);
  }

  function authorizeCaller(
    caller: Authentication,
    request: IncomingMessage,
    info: RequestInfo,
    query: URLSearchParams,
  ): UserInfo {
    if (caller.kind === "unauthorized") {
      logger.info("rejected a credential", { reason: caller.reason, from: request.socket.remoteAddress });
      throw unauthorized();
    }
    const own = attributesOf(caller.user, info, query);
    const user = actingUser(request, own, decide);
    const isUpgrade = request.headers.upgrade !== undefined;
    requireAllowed(user === caller.user ? own : { ...own, user }, { isUpgrade });
    return user;
  }

  function requireAllowed(attributes: Attributes, { isUpgrade = false } = {}): void {
    for (const check of checksOf(attributes, isUpgrade)) {
      const decision = decide(check);
      if (!decision.allowed) throw forbiddenRequest(check, decision.reason);
    }
  }

  return {
    authenticateAndAuthorize,
    authorize: (user, info, query) => requireAllowed(attributesOf(user, info, query)),
    decide,
    rbac,
    rbacSource,
  };
}

const streams = new Set(["exec", "attach", "portforward"]);

/**
 * A WebSocket begins with a GET, but a stream into a pod is more than a read: it requires `create` as well. So does an
 * upgrade through `nodes/proxy`, because the kubelet offers the same streams.
 */
function checksOf(attributes: Attributes, isUpgrade: boolean): Attributes[] {
  const { verb, apiGroup, resource, subresource } = attributes;
  const isStream =
    (resource === "pods" && streams.has(subresource)) ||
    (isUpgrade && resource === "nodes" && subresource === "proxy");
  const needsCreate = verb === "get" && apiGroup === "" && isStream;
  return needsCreate ? [attributes, { ...attributes, verb: "create" }] : [attributes];
}

function actingUser(request: IncomingMessage, attributes: Attributes, authorize: Authorize): UserInfo {
  const wanted = readImpersonation(request.rawHeaders);
  if (!wanted) return attributes.user;
  const result = impersonate(wanted, attributes, authorize);
  if (result.kind === "refused") throw result.error;
  return result.user;
}

function attributesOf(user: UserInfo, info: RequestInfo, query: URLSearchParams): Attributes {
  if (info.kind === "path") {
    const { verb, path } = info;
    return {
      user,
      verb,
      path,
      isResourceRequest: false,
      apiGroup: "",
      apiVersion: "",
      resource: "",
      subresource: "",
      namespace: "",
      name: "",
    };
  }
  const { verb, group, version, plural, subresource, namespace, name, path } = info;
  const fieldSelector = readFieldSelector(query);
  return {
    user,
    verb,
    isResourceRequest: true,
    apiGroup: group,
    apiVersion: version,
    resource: plural,
    subresource,
    namespace,
    // A list that selects one name is authorized as a request for that name.
    name: name || (fieldSelector && requiredFieldValue(fieldSelector, "metadata.name")) || "",
    path,
    ...(fieldSelector && { fieldSelector }),
  };
}

function readFieldSelector(query: URLSearchParams) {
  const text = query.get("fieldSelector");
  if (!text) return undefined;
  try {
    return parseFieldSelector(text);
  } catch (error) {
    // A missing permission is reported first; the verb reports the selector later.
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

function createRbacSource(objectStore: ObjectStore): RbacSource {
  const roles = createLister<Role>(objectStore, roleKind);
  const roleBindings = createLister<RoleBinding>(objectStore, roleBindingKind);
  const clusterRoles = createLister<ClusterRole>(objectStore, clusterRoleKind);
  const clusterRoleBindings = createLister<ClusterRoleBinding>(objectStore, clusterRoleBindingKind);
  return {
    clusterRole: (name) => clusterRoles.cached("", name),
    clusterRoleBindings: () => clusterRoleBindings.all(),
    role: (namespace, name) => roles.cached(namespace, name),
    roleBindings: (namespace) => roleBindings.all(namespace),
  };
}

/**
 * Node graph that is filled when a node sends its first request, because a cluster without kubelets does not need it.
 */
function createLiveGraph(objectStore: ObjectStore): NodeGraph {
  const graph = createNodeGraph();
  let filled = false;
  function fill(): void {
    filled = true;
    const pods = createLister<Pod>(objectStore, podKind);
    const volumes = createLister<PersistentVolume>(objectStore, persistentVolumeKind);
    for (const pod of pods.all()) graph.setPod(pod);
    for (const volume of volumes.all()) graph.setVolume(volume);
    objectStore.cache(pods.resource).watch({ kind: "all" }, ({ before, after }) => {
      const nodeName = after?.facts().fields["spec.nodeName"];
      if (!after) {
        const { namespace = "", name = "" } = before?.parse().metadata ?? {};
        graph.deletePod(namespace, name);
        // The references of a pod are immutable once it is bound to a node.
      } else if (nodeName && nodeName !== before?.facts().fields["spec.nodeName"])
        graph.setPod(after.parse() as Pod);
    });
    volumes.onChange((before, after) => {
      if (after) graph.setVolume(after);
      else graph.deleteVolume(before?.metadata.name ?? "");
    });
  }
  return {
    ...graph,
    needs(nodeName, object) {
      if (!filled) fill();
      return graph.needs(nodeName, object);
    },
  };
}

const allowed: Decision = { allowed: true, reason: "" };

/** Allows everything to `system:masters`, and otherwise what the node authorizer or RBAC allows. */
export function createAuthorizer(nodes: Authorize, rbac: RbacAuthorizer): Authorize {
  return (attributes) => {
    if (attributes.user.groups.includes(mastersGroup)) return allowed;
    const asNode = nodes(attributes);
    if (asNode.allowed) return asNode;
    const byRole = rbac.authorize(attributes);
    if (byRole.allowed || !asNode.reason) return byRole;
    return { allowed: false, reason: [asNode.reason, byRole.reason].filter(Boolean).join("\n") };
  };
}
