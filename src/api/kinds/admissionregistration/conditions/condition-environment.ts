import type { Environment } from "../../../cel/environment.ts";
import { baseEnvironment } from "../../../cel/environment-base.ts";
import { authorizerType, resourceCheckType } from "../../../cel/library/authorizer.ts";
import {
  boolType,
  dynType,
  intType,
  listType,
  mapType,
  stringType,
  structType,
  type Type,
  timestampType,
} from "../../../cel/type.ts";
import { CelError } from "../../../cel/values.ts";

const fieldsOf = (names: string, type: Type) => names.split(" ").map((name) => [name, type] as const);

const groupVersionKind = structType("kubernetes.GroupVersionKind");
const groupVersionResource = structType("kubernetes.GroupVersionResource");
const userInfo = structType("kubernetes.UserInfo");
const admissionRequest = structType("kubernetes.AdmissionRequest");
const namespace = structType("kubernetes.Namespace");
const namespaceMetadata = structType("kubernetes.NamespaceMetadata");
const namespaceSpec = structType("kubernetes.NamespaceSpec");
const namespaceStatus = structType("kubernetes.NamespaceStatus");
const namespaceCondition = structType("kubernetes.NamespaceCondition");

/** Fields of the types of `request` and `namespaceObject`, with upstream's names. */
const structs = new Map<string, ReadonlyMap<string, Type>>([
  [groupVersionKind.name, new Map(fieldsOf("group version kind", stringType))],
  [groupVersionResource.name, new Map(fieldsOf("group version resource", stringType))],
  [
    userInfo.name,
    new Map([
      ...fieldsOf("username uid", stringType),
      ["groups", listType(stringType)],
      ["extra", mapType(stringType, listType(stringType))],
    ]),
  ],
  [
    admissionRequest.name,
    new Map([
      ...fieldsOf("subResource requestSubResource name namespace operation", stringType),
      ...fieldsOf("kind requestKind", groupVersionKind),
      ...fieldsOf("resource requestResource", groupVersionResource),
      ["userInfo", userInfo],
      ["dryRun", boolType],
      ["options", dynType],
    ]),
  ],
  [
    namespace.name,
    new Map([
      ["metadata", namespaceMetadata],
      ["spec", namespaceSpec],
      ["status", namespaceStatus],
    ]),
  ],
  [
    namespaceMetadata.name,
    new Map([
      ...fieldsOf("name generateName namespace UID resourceVersion", stringType),
      ...fieldsOf("labels annotations", mapType(stringType, stringType)),
      ...fieldsOf("creationTimestamp deletionTimestamp", timestampType),
      ...fieldsOf("deletionGracePeriodSeconds generation", intType),
      ["finalizers", listType(stringType)],
    ]),
  ],
  [namespaceSpec.name, new Map([["finalizers", listType(stringType)]])],
  [
    namespaceStatus.name,
    new Map([
      ["conditions", listType(namespaceCondition)],
      ["phase", stringType],
    ]),
  ],
  [
    namespaceCondition.name,
    new Map([...fieldsOf("status type message reason", stringType), ["lastTransitionTime", timestampType]]),
  ],
]);

/** Environment of match conditions. As upstream, `namespaceObject` is declared, and null when a webhook's condition runs. */
export const conditionEnvironment: Environment = {
  ...baseEnvironment,
  variables: new Map([
    ["object", dynType],
    ["oldObject", dynType],
    ["namespaceObject", namespace],
    ["request", admissionRequest],
    ["authorizer", authorizerType],
    ["authorizer.requestResource", resourceCheckType],
  ]),
  structs: {
    has: (name) => structs.has(name),
    fieldType: (name, field) => structs.get(name)?.get(field),
    // As upstream, a literal of one of the types is valid, and fails when it is evaluated.
    create: (name) => new CelError(`unknown type '${name}'`),
  },
};
