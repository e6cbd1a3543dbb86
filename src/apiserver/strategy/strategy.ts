import type { Features } from "../../api/feature-gates.ts";
import type { FieldError } from "../../api/field-error.ts";
import type { DeleteOptions, KubeObject } from "../../api/objects.ts";

/** What a strategy may know beside the object itself. */
export interface StrategyContext {
  readonly features: Features;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The rules of one kind. The generic handler does what all kinds share (names, uid, resourceVersion, metadata
 * validation, deletion); a strategy adds what is the kind's own. Objects have been decoded against the schema:
 * every field has the right type. The `prepare` functions may change `next`; nothing else may be changed.
 */
export interface Strategy<T extends KubeObject = KubeObject> {
  /** Fills in what the user left out. Runs on every create and update, before `prepare`. */
  applyDefaults?(object: T, context: StrategyContext): void;
  /** What of it counts for `/status`, where the spec stays as it is; all of it unless told. */
  applyStatusDefaults?(object: T, context: StrategyContext): void;
  /** Resets what users may not set on create (status), starts generation at 1, drops gated fields. */
  prepareForCreate?(next: T, context: StrategyContext): void;
  /** Keeps what users may not change (status), raises the generation where the spec changed. */
  prepareForUpdate?(next: T, current: T, context: StrategyContext): void;
  /** For `/status`: keeps everything but status (and what upstream lets status writers change). */
  prepareForStatusUpdate?(next: T, current: T, context: StrategyContext): void;
  validate?(next: T, context: StrategyContext): FieldError[];
  validateUpdate?(next: T, current: T, context: StrategyContext): FieldError[];
  validateStatusUpdate?(next: T, current: T, context: StrategyContext): FieldError[];
  /** Things worth a `Warning` header that do not fail the request. */
  warnings?(next: T, context: StrategyContext, current?: T): string[];
  /** Which rule a name of this kind follows; a DNS subdomain unless told. */
  readonly nameRule?: "dnsSubdomain" | "dnsLabel" | "dns1035Label" | "pathSegment";
  /** Field selectors this kind has beside metadata.name and metadata.namespace, as paths: `spec.nodeName`. */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>;
  /** Seconds between this delete and the object going; 0 unless told. */
  gracePeriodSeconds?(object: T, options: DeleteOptions): number;
  /** A delete begins: may change the object (a namespace is Terminating), and `hold` keeps it for somebody to finish. */
  beginDeletion?(object: T, context: StrategyContext): "hold" | "go";
  /** False: an update must name the resourceVersion that it replaces. True unless told. */
  readonly allowUnconditionalUpdate?: boolean;
  /** True: PUT creates a missing object (leases, events and a few more). */
  readonly allowCreateOnUpdate?: boolean;
}
