import type { Features } from "../meta/feature-gates.ts";
import type { FieldError } from "../meta/field-errors.ts";
import { isEqual } from "../meta/is-equal.ts";
import type { DeleteOptions, KubeObject } from "../meta/objects.ts";
import type { FieldSet } from "../patch/apply/field-set.ts";

/** Context of a request that a strategy may use. */
export interface StrategyContext {
  readonly features: Features;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Warning for writes of NetworkPolicies. Undefined if they are enforced, or if the server does not know. */
  readonly networkPolicyWarning?: string;
}

/**
 * The rules of one kind. The generic handler does what all kinds share (names, uid, resourceVersion, metadata
 * validation, deletion); a strategy adds the kind's own rules. Objects have been decoded against the schema: every field
 * has the right type. The `prepare` functions may change `next`; the others must not change anything.
 */
export interface Strategy<T extends KubeObject = KubeObject> {
  /** Loads code that the other functions need for an object. Called before each write. Default: nothing to load. */
  load?(next: T): Promise<void>;
  /** Sets the defaults of missing fields. Runs on every create and update, before `prepare`. */
  applyDefaults?(object: T, context: StrategyContext): void;
  /** Sets the defaults for a write of `/status`. Default: `applyDefaults`. */
  applyStatusDefaults?(object: T, context: StrategyContext): void;
  /** Resets fields that users must not set on create (status), sets the generation to 1, drops gated fields. */
  prepareForCreate?(next: T, context: StrategyContext): void;
  /** Keeps fields that users must not change (status), increments the generation when the spec changed. */
  prepareForUpdate?(next: T, current: T, context: StrategyContext): void;
  /** For `/status`: keeps everything but the status and the fields that upstream lets status writers change. */
  prepareForStatusUpdate?(next: T, current: T, context: StrategyContext): void;
  validate?(next: T, context: StrategyContext): FieldError[];
  validateUpdate?(next: T, current: T, context: StrategyContext): FieldError[];
  validateStatusUpdate?(next: T, current: T, context: StrategyContext): FieldError[];
  /** Texts of `Warning` headers. They do not fail the request. */
  warnings?(next: T, context: StrategyContext, current?: T): string[];
  /** Warnings for a write of `/status`. */
  statusWarnings?(next: T): string[];
  /** Rule for names of the kind. Default: DNS subdomain. */
  readonly nameRule?: "dnsSubdomain" | "dnsLabel" | "dns1035Label" | "pathSegment";
  /** Finalizers that objects may have. Default: standard ones and those with a domain. */
  readonly finalizers?: "any" | "qualified";
  /** Field selectors beside metadata.name and metadata.namespace, by path: `spec.nodeName`. */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>;
  /** Seconds between the delete and the removal of the object. Default: 0. */
  gracePeriodSeconds?(object: T, options: DeleteOptions): number;
  /** Called when a delete begins. May change the object (a namespace becomes Terminating); `hold` keeps it stored. */
  beginDeletion?(object: T, context: StrategyContext): "hold" | "go";
  /** False when an update must contain the resourceVersion that it replaces. Default: true. */
  readonly allowUnconditionalUpdate?: boolean;
  /** True when PUT creates a missing object (leases, events and others). Default: false. */
  readonly allowCreateOnUpdate?: boolean;
  /** Fields beside the spec that an update of `/status` does not write. Default: none. */
  readonly resetByStatusUpdate?: FieldSet;
  /** Warning for a delete without a propagation policy, which orphans dependents. Default: it deletes them. */
  readonly orphanWarning?: string;
  /** True when the response to a delete is the deleted object instead of a Status. Default: false. */
  readonly returnsDeletedObject?: boolean;
}

/** Object with a spec, written by users, and a status, written by controllers. */
interface WithSpecAndStatus extends KubeObject {
  spec?: unknown;
  status?: unknown;
}

/** Sets a field of `next` to that of `current`, or deletes it. */
export function keepField<T extends object, K extends keyof T>(next: T, current: T, field: K): void {
  if (current[field] === undefined) delete next[field];
  else next[field] = current[field];
}

export function startGeneration(next: KubeObject): void {
  next.metadata.generation = 1;
}

/** Increments the generation, which counts changes of the desired state. */
export function raiseGeneration(next: KubeObject, current: KubeObject): void {
  next.metadata.generation = (current.metadata.generation ?? 0) + 1;
}

export function raiseGenerationOnSpecChange(next: WithSpecAndStatus, current: WithSpecAndStatus): void {
  if (!isEqual(next.spec, current.spec)) raiseGeneration(next, current);
}
