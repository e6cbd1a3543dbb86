import type { IncomingMessage } from "node:http";
import type { TLSSocket } from "node:tls";
import { parseFieldSelector, requiredFieldValue } from "../../api/field-selector.ts";
import type { Pod } from "../../api/objects.ts";
import { StatusError, unauthorized } from "../../api/status-error.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { lookupOf } from "../registry/object-lookup.ts";
import type { Registry } from "../registry/registry.ts";
import type { RequestInfo } from "../request-info.ts";
import type { Attributes, Authorize } from "./attributes.ts";
import { type Authentication, authenticate } from "./authentication/authenticate.ts";
import { impersonate } from "./authentication/impersonate.ts";
import { readImpersonation } from "./authentication/read-impersonation.ts";
import { createAuthorizer } from "./authorizer.ts";
import { forbiddenRequest } from "./forbidden.ts";
import { createNodeAuthorizer } from "./node/node-authorizer.ts";
import { createNodeGraph, type NodeGraph } from "./node/node-graph.ts";
import type { PersistentVolume } from "./node/volume-secrets.ts";
import type { ClusterRole, ClusterRoleBinding, RbacSource, Role, RoleBinding } from "./rbac/objects.ts";
import { rbacGroup } from "./rbac/objects.ts";
import { createRbacAuthorizer, type RbacAuthorizer } from "./rbac/rbac-authorizer.ts";
import type { AuthenticateToken } from "./token/authenticate-token.ts";
import type { UserInfo } from "./user-info.ts";

/** Who may come in, and what they may do. */
export interface Gatekeeper {
  /** Throws 401 and 403. Answers at once where nothing has to be looked up. */
  admitCaller(
    request: IncomingMessage,
    info: RequestInfo,
    query: URLSearchParams,
  ): UserInfo | Promise<UserInfo>;
  /** For who is known without a credential: a part of the server's own process. Throws 403. */
  admitUser(user: UserInfo, info: RequestInfo, query: URLSearchParams): void;
  readonly authorize: Authorize;
  readonly rbac: RbacAuthorizer;
  readonly rbacSource: RbacSource;
}

interface GatekeeperDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly authenticateToken: AuthenticateToken;
  readonly apiAudiences: readonly string[];
}

export function createGatekeeper(deps: GatekeeperDeps): Gatekeeper {
  const { registry, clock, logger, authenticateToken, apiAudiences } = deps;
  const rbacSource = createRbacSource(registry);
  const rbac = createRbacAuthorizer(rbacSource);
  for (const plural of ["roles", "rolebindings", "clusterroles", "clusterrolebindings"]) {
    lookupOf(registry, rbacGroup, plural).onChange((before, after) => {
      rbac.changed((after ?? before)?.metadata.namespace);
    });
  }
  const authorize = createAuthorizer(createNodeAuthorizer(createLiveGraph(registry)), rbac);

  function admitCaller(request: IncomingMessage, info: RequestInfo, query: URLSearchParams) {
    const socket = request.socket as TLSSocket;
    const { authorization } = request.headers;
    const caller = authenticate(
      { socket, authorization },
      { authenticateToken, apiAudiences, now: clock.now },
    );
    if (caller instanceof Promise) return caller.then((known) => admitKnown(known, request, info, query));
    return admitKnown(caller, request, info, query);
  }

  function admitKnown(
    caller: Authentication,
    request: IncomingMessage,
    info: RequestInfo,
    query: URLSearchParams,
  ): UserInfo {
    if (caller.kind === "unauthorized") {
      logger.info("refused a credential", { reason: caller.reason, from: request.socket.remoteAddress });
      throw unauthorized();
    }
    const own = attributesOf(caller.user, info, query);
    const user = actingUser(request, own, authorize);
    requireRights(user === caller.user ? own : { ...own, user });
    return user;
  }

  function requireRights(attributes: Attributes): void {
    for (const asked of questionsOf(attributes)) {
      const decision = authorize(asked);
      if (!decision.allowed) throw forbiddenRequest(asked, decision.reason);
    }
  }

  return {
    admitCaller,
    admitUser: (user, info, query) => requireRights(attributesOf(user, info, query)),
    authorize,
    rbac,
    rbacSource,
  };
}

const streams = new Set(["exec", "attach", "portforward"]);

/** A WebSocket begins with a GET, but who opens one into a pod does more than read: that takes `create` as well. */
function questionsOf(attributes: Attributes): Attributes[] {
  const { verb, apiGroup, resource, subresource } = attributes;
  const opensStream = verb === "get" && apiGroup === "" && resource === "pods" && streams.has(subresource);
  return opensStream ? [attributes, { ...attributes, verb: "create" }] : [attributes];
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
    // A list of one name is, to authorization, about that name.
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
    // Who may not list at all should hear that first: the verb complains about the selector later.
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

function createRbacSource(registry: Registry): RbacSource {
  const roles = lookupOf<Role>(registry, rbacGroup, "roles");
  const roleBindings = lookupOf<RoleBinding>(registry, rbacGroup, "rolebindings");
  const clusterRoles = lookupOf<ClusterRole>(registry, rbacGroup, "clusterroles");
  const clusterRoleBindings = lookupOf<ClusterRoleBinding>(registry, rbacGroup, "clusterrolebindings");
  return {
    clusterRole: (name) => clusterRoles.cached("", name),
    clusterRoleBindings: () => clusterRoleBindings.all(),
    role: (namespace, name) => roles.cached(namespace, name),
    roleBindings: (namespace) => roleBindings.all(namespace),
  };
}

/** The graph of what nodes need, filled when the first node asks: a cluster without kubelets pays nothing for it. */
function createLiveGraph(registry: Registry): NodeGraph {
  const graph = createNodeGraph();
  let filled = false;
  function fill(): void {
    filled = true;
    const pods = lookupOf<Pod>(registry, "", "pods");
    const volumes = lookupOf<PersistentVolume>(registry, "", "persistentvolumes");
    for (const pod of pods.all()) graph.setPod(pod);
    for (const volume of volumes.all()) graph.setVolume(volume);
    registry.cache(pods.resource).watch({ kind: "all" }, ({ before, after }) => {
      const nodeName = after?.facts().fields["spec.nodeName"];
      if (!after) {
        const { namespace = "", name = "" } = before?.parse().metadata ?? {};
        graph.deletePod(namespace, name);
        // What a pod refers to is settled when it gets its node.
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
