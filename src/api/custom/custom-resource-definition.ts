import type { KubeObject } from "../meta/objects.ts";
import type { OpenApiSchema } from "./open-api-schema.ts";

export interface CustomResourceDefinition extends KubeObject {
  spec: DefinitionSpec;
  status?: DefinitionStatus;
}

export interface DefinitionSpec {
  group: string;
  scope: string;
  names: DefinitionNames;
  versions?: DefinitionVersion[];
  conversion?: Conversion;
  preserveUnknownFields?: boolean;
}

export interface DefinitionNames {
  plural: string;
  kind: string;
  singular?: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface DefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: OpenApiSchema };
  subresources?: { status?: object; scale?: ScalePaths };
  additionalPrinterColumns?: PrinterColumn[];
  selectableFields?: { jsonPath: string }[];
}

export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

export interface Conversion {
  strategy: string;
  webhook?: { clientConfig?: WebhookClientConfig; conversionReviewVersions?: string[] };
}

interface WebhookClientConfig {
  url?: string;
  service?: { namespace?: string; name?: string; path?: string; port?: number };
  /** Base64 of PEM. */
  caBundle?: string;
}

export interface DefinitionStatus {
  conditions?: DefinitionCondition[];
  acceptedNames?: DefinitionNames;
  storedVersions?: string[];
}

export interface DefinitionCondition {
  type: string;
  status: string;
  lastTransitionTime?: string;
  reason?: string;
  message?: string;
}

export function isConditionTrue({ status }: CustomResourceDefinition, type: string): boolean {
  return (
    status?.conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false
  );
}

/** Finalizer of definitions: it keeps a definition until all of its objects are deleted. */
export const cleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io";
