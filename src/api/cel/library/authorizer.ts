import { nameProblems } from "../../meta/names.ts";
import { type FunctionDeclaration, type Implementation, member, nameType } from "../functions.ts";
import { structType, type Type } from "../type.ts";
import { CelError, CelObject, type Value } from "../values.ts";

const prefix = "kubernetes.authorization.";
/** Type of the variable `authorizer`. */
export const authorizerType = nameType("authorizer", structType(`${prefix}Authorizer`));
const pathCheckType = nameType("pathCheck", structType(`${prefix}PathCheck`));
const groupCheckType = nameType("groupCheck", structType(`${prefix}GroupCheck`));
/** Type of the variable `authorizer.requestResource`. */
export const resourceCheckType = nameType("resourceCheck", structType(`${prefix}ResourceCheck`));
const decisionType = nameType("decision", structType(`${prefix}Decision`));

export const authorizerTypes: readonly Type[] = [
  authorizerType,
  pathCheckType,
  groupCheckType,
  resourceCheckType,
  decisionType,
];

/** Request that an expression asks about: for a path, or for a resource. */
type AuthorizationCheck =
  | { readonly path: string }
  | {
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
      readonly fieldSelector: string;
      readonly labelSelector: string;
    };

interface AuthorizationDecision {
  readonly allowed: boolean;
  readonly reason: string;
  readonly error?: string;
}

/** Decides whether a user may do something. Without a service account, the user is that of the request. */
export type Authorize = (
  verb: string,
  check: AuthorizationCheck,
  serviceAccount: { readonly namespace: string; readonly name: string } | undefined,
) => AuthorizationDecision;

/** Value without fields, which is used by its functions only. */
class AuthorizationValue<T> extends CelObject {
  readonly type: Type;
  readonly content: T;

  constructor(type: Type, content: T) {
    super();
    this.type = type;
    this.content = content;
  }

  equals(other: CelObject): boolean {
    return other === this;
  }
}

/** What a check carries: how to decide it for its verb. */
type Check = (verb: string) => AuthorizationDecision;
interface User {
  readonly authorize: (verb: string, check: AuthorizationCheck) => AuthorizationDecision;
  readonly authorizer: Authorize;
}
type ResourceCheck = { readonly user: User; readonly check: Extract<AuthorizationCheck, { group: string }> };

/** Value of the variable `authorizer`. */
export function createAuthorizer(authorize: Authorize): CelObject {
  return authorizerOf(authorize, undefined);
}

function authorizerOf(
  authorizer: Authorize,
  account: { readonly namespace: string; readonly name: string } | undefined,
): CelObject {
  const user: User = { authorizer, authorize: (verb, check) => authorizer(verb, check, account) };
  return new AuthorizationValue(authorizerType, user);
}

/** Value of the variable `authorizer.requestResource`: a check for the resource of the request. */
export function createResourceCheck(
  authorizer: Authorize,
  check: Omit<ResourceCheck["check"], "fieldSelector" | "labelSelector">,
): CelObject {
  const user: User = { authorizer, authorize: (verb, asked) => authorizer(verb, asked, undefined) };
  return resourceCheck({ user, check: { ...check, fieldSelector: "", labelSelector: "" } });
}

function resourceCheck(content: ResourceCheck): CelObject {
  return new AuthorizationValue(resourceCheckType, content);
}

const contentOf = <T>(value: Value | undefined) => (value as AuthorizationValue<T>).content;

/** Sets a field of a resource check. */
function setField(
  field: "subresource" | "namespace" | "name" | "fieldSelector" | "labelSelector",
): Implementation {
  return ([target, text]) => {
    const { user, check } = contentOf<ResourceCheck>(target);
    return resourceCheck({ user, check: { ...check, [field]: text as string } });
  };
}

function decide(check: Check): Implementation {
  return ([, verb]) => new AuthorizationValue(decisionType, check(verb as string));
}

function serviceAccount([target, namespace, name]: readonly Value[]): Value {
  if (nameProblems("dnsSubdomain", name as string).length > 0)
    return new CelError("Invalid service account name");
  if (nameProblems("dnsLabel", namespace as string).length > 0)
    return new CelError("Invalid service account namespace");
  const { authorizer } = contentOf<User>(target);
  return authorizerOf(authorizer, { namespace: namespace as string, name: name as string });
}

const setter = (name: Parameters<typeof setField>[0], id: string) =>
  member(name, [id, "resourceCheck, string -> resourceCheck", setField(name)]);

const decision = (name: string, result: string, read: (decision: AuthorizationDecision) => Value) =>
  member(name, [
    `decision_${name}`,
    `decision -> ${result}`,
    ([value]) => read(contentOf<AuthorizationDecision>(value)),
  ]);

/** Kubernetes' functions for authorization checks. */
export const authorizerFunctions: readonly FunctionDeclaration[] = [
  member("path", [
    "authorizer_path",
    "authorizer, string -> pathCheck",
    ([target, path]) => {
      if ((path as string).trim() === "") return new CelError("path must not be empty");
      const { authorize } = contentOf<User>(target);
      const check: Check = (verb) => authorize(verb, { path: path as string });
      return new AuthorizationValue(pathCheckType, check);
    },
  ]),
  member("group", [
    "authorizer_group",
    "authorizer, string -> groupCheck",
    ([target, group]) =>
      new AuthorizationValue(groupCheckType, { user: contentOf<User>(target), group: group as string }),
  ]),
  member("serviceAccount", [
    "authorizer_serviceaccount",
    "authorizer, string, string -> authorizer",
    serviceAccount,
  ]),
  member("resource", [
    "groupcheck_resource",
    "groupCheck, string -> resourceCheck",
    ([target, resource]) => {
      if ((resource as string).trim() === "") return new CelError("resource must not be empty");
      const { user, group } = contentOf<{ user: User; group: string }>(target);
      const empty = { subresource: "", namespace: "", name: "", fieldSelector: "", labelSelector: "" };
      return resourceCheck({ user, check: { group, resource: resource as string, ...empty } });
    },
  ]),
  setter("subresource", "resourcecheck_subresource"),
  setter("namespace", "resourcecheck_namespace"),
  setter("name", "resourcecheck_name"),
  setter("fieldSelector", "authorizer_fieldselector"),
  setter("labelSelector", "authorizer_labelselector"),
  member(
    "check",
    [
      "pathcheck_check",
      "pathCheck, string -> decision",
      (args, meter) => decide(contentOf<Check>(args[0]))(args, meter),
    ],
    [
      "resourcecheck_check",
      "resourceCheck, string -> decision",
      (args, meter) => {
        const { user, check } = contentOf<ResourceCheck>(args[0]);
        return decide((verb) => user.authorize(verb, check))(args, meter);
      },
    ],
  ),
  decision("errored", "bool", ({ error }) => error !== undefined),
  decision("error", "string", ({ error }) => error ?? ""),
  decision("allowed", "bool", ({ allowed }) => allowed),
  decision("reason", "string", ({ reason }) => reason),
];
