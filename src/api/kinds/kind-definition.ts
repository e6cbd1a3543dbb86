import type { KubeObject } from "../meta/objects.ts";
import type { Resource } from "../meta/resource.ts";
import { builtInSchema } from "../schema/built-in-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { defaultColumns, type TableLayout } from "./columns.ts";
import type { Strategy } from "./strategy.ts";

export type Subresource =
  | "status"
  | "scale"
  | "binding"
  | "eviction"
  | "token"
  | "finalize"
  | "log"
  | "exec"
  | "attach"
  | "portforward"
  | "proxy";

/**
 * Conversion between the stored form of objects and the version in which a kind serves them. Objects of a custom resource
 * are stored in one version and served in several.
 */
export interface StoredConversion {
  /** Whether a webhook has to convert objects that are stored in this version. */
  needsWebhook(storedApiVersion: string): boolean;
  /** Served form of a stored object. The webhook has converted it if it needs that. May change the object. */
  toServed(stored: KubeObject): KubeObject;
  /** Stored form of a served object. May change the object. */
  toStored(served: KubeObject): KubeObject | Promise<KubeObject>;
  /** Converts stored objects to the served version. */
  convert(stored: readonly KubeObject[]): Promise<readonly KubeObject[]>;
}

/** Everything the API server knows about one kind. */
export interface KindDefinition extends TableLayout {
  readonly resource: Resource;
  /** Types of the kind's objects. Contains the definition `definitionName(resource)`. */
  readonly schema: Schema;
  /** Defaults, validation and update rules. */
  readonly strategy: Strategy;
  /** Default: objects are served as they are stored. */
  readonly conversion?: StoredConversion;
  /** Fields of the scale subresource. Default: those of workloads. */
  readonly scale?: ScaleFields;
  /** Whether the kind is being removed. Objects cannot be created then. Default: never. */
  readonly isTerminating?: () => boolean;
  /** Subresources that are served under an object of this kind. */
  readonly subresources: readonly Subresource[];
}

/** Access to the fields that the scale subresource reads and writes. */
export interface ScaleFields {
  replicas(object: KubeObject): number | undefined;
  statusReplicas(object: KubeObject): number;
  /** Label selector in its string form. */
  selector(object: KubeObject): string;
  /** Returns a copy of the object with other replicas. */
  withReplicas(object: KubeObject, replicas: number): KubeObject;
}

/** Definition as a kind's folder declares it. Properties that follow from the kind's name are optional. */
interface KindDeclaration<T extends KubeObject> extends Partial<TableLayout<T>> {
  readonly resource: Pick<Resource, "group" | "version" | "plural" | "kind"> & Partial<Resource>;
  /** Default: the schema of the built-in kinds. */
  readonly schema?: Schema;
  readonly strategy: Strategy<T>;
  /** Default: objects are served as they are stored. */
  readonly conversion?: StoredConversion;
  readonly scale?: ScaleFields;
  readonly isTerminating?: () => boolean;
  /** Default: none. */
  readonly subresources?: readonly Subresource[];
}

/** Creates a definition from a declaration. Resources are namespaced by default. */
export function defineKind<T extends KubeObject>(declaration: KindDeclaration<T>): KindDefinition {
  const {
    resource,
    schema = builtInSchema,
    columns = defaultColumns,
    rowConditions,
    conversion,
    scale,
    isTerminating,
    subresources = [],
  } = declaration;
  return {
    resource: {
      storedAs: `${resource.group || "core"}/${resource.plural}`,
      singular: resource.kind.toLowerCase(),
      namespaced: true,
      shortNames: [],
      categories: [],
      ...resource,
    },
    schema,
    // Safe: the handlers call a strategy and its columns with objects of its own kind only.
    strategy: declaration.strategy as Strategy,
    columns: columns as TableLayout["columns"],
    ...(rowConditions && { rowConditions: rowConditions as NonNullable<TableLayout["rowConditions"]> }),
    ...(conversion && { conversion }),
    ...(scale && { scale }),
    ...(isTerminating && { isTerminating }),
    subresources,
  };
}
