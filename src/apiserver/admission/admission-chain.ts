import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import { forbidden } from "../../api/meta/status-error.ts";
import type { UserInfo } from "../request/user-info.ts";
import type { ObjectRef } from "../storage/object-store.ts";

/** `connect` opens a stream to an object: exec, attach, port-forward and proxy. */
export type Operation = "create" | "update" | "delete" | "connect";

/** A request after authorization and defaulting. */
export interface AdmissionRequest {
  readonly operation: Operation;
  readonly ref: ObjectRef;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Object to be written. Undefined for delete and connect. */
  readonly object: KubeObject | undefined;
  /** Stored object. Undefined for create and connect. */
  readonly current: KubeObject | undefined;
  readonly user: UserInfo;
  /** True when nothing may be stored, including by plugins. */
  readonly dryRun: boolean;
}

/** One admission controller. It rejects a request by throwing a StatusError. */
export interface AdmissionPlugin {
  readonly name: string;
  /** Called once for each operation when the chain is created. */
  handles(operation: Operation): boolean;
  /** May change `request.object`. Runs before the object is validated against its kind. */
  mutate?(request: AdmissionRequest): void | Promise<void>;
  /** Must not change anything. Runs after the object was validated, on the object that will be stored. */
  validate?(request: AdmissionRequest): void | Promise<void>;
}

/** The object of a request for a whole object of the kind. Undefined for other kinds, subresources and deletes. */
export function objectOf<T extends KubeObject>(
  { ref, subresource, object }: AdmissionRequest,
  { resource }: KindDefinition,
): T | undefined {
  const isOfKind = subresource === "" && ref.resource.storedAs === resource.storedAs;
  return isOfKind ? (object as T | undefined) : undefined;
}

/** Throws 403 with the detail, if there is one. */
export function forbidIf({ ref }: AdmissionRequest, detail: string | undefined): void {
  if (detail) throw forbidden(ref.resource, ref.name, detail);
}

/**
 * Runs the plugins in order:
 *
 *     mutate of every plugin ──▶ validation of the object by its kind ──▶ validate of every plugin
 *
 * The verbs validate the object between the two calls. Both reject with the StatusError of the first plugin that throws.
 */
export interface AdmissionChain {
  mutate(request: AdmissionRequest): Promise<void>;
  validate(request: AdmissionRequest): Promise<void>;
  /** Both phases, for requests whose object no kind validates: deletes, connects and subresources with their own kind. */
  admit(request: AdmissionRequest): Promise<void>;
}

type Step = (request: AdmissionRequest) => void | Promise<void>;
type Phase = Readonly<Record<Operation, readonly Step[]>>;

export function createAdmissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const mutating = createPhase(plugins, "mutate");
  const validating = createPhase(plugins, "validate");
  return {
    mutate: (request) => run(mutating, request),
    validate: (request) => run(validating, request),
    async admit(request) {
      await run(mutating, request);
      await run(validating, request);
    },
  };
}

function createPhase(plugins: readonly AdmissionPlugin[], name: "mutate" | "validate"): Phase {
  const stepsOf = (operation: Operation): Step[] =>
    plugins
      .filter((plugin) => plugin.handles(operation))
      .flatMap((plugin) => plugin[name]?.bind(plugin) ?? []);
  return {
    create: stepsOf("create"),
    update: stepsOf("update"),
    delete: stepsOf("delete"),
    connect: stepsOf("connect"),
  };
}

async function run(phase: Phase, request: AdmissionRequest): Promise<void> {
  for (const step of phase[request.operation]) {
    const pending = step(request);
    // Most plugins have nothing to wait for: a turn of the microtask queue for each would add up.
    if (pending) await pending;
  }
}
