import type { KindDefinition } from "../../api/kinds/kind-definition.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import { forbidden, StatusError } from "../../api/meta/status-error.ts";
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
  /** Options of the request, as webhooks get them: CreateOptions, UpdateOptions or DeleteOptions. */
  readonly options?: object;
  /** Whether the server generated the name of a new object. Mutating webhooks do not see it, as upstream. */
  readonly hasGeneratedName?: boolean;
  /** Collects texts of `Warning` headers. Default: they are dropped. */
  readonly warnings?: string[];
}

/** State of one request between the two rounds of mutating plugins. */
export interface Reinvocation {
  /** The second round runs after a webhook has changed the object. */
  readonly round: 0 | 1;
  /** Asks for the second round. */
  require(): void;
  /** State of the webhook plugin. */
  readonly webhooks: {
    /** Webhooks that were called, and that want to be called again after changes of others. */
    called: Set<string>;
    /** Webhooks that the second round calls. */
    again: Set<string>;
    /** JSON of the object after the last webhook. */
    output: string | undefined;
  };
}

/** One admission controller. It rejects a request by throwing a StatusError. */
export interface AdmissionPlugin {
  readonly name: string;
  /** Called once for each operation when the chain is created. */
  handles(operation: Operation): boolean;
  /** May change `request.object`. Runs before the object is validated against its kind. */
  mutate?(request: AdmissionRequest, reinvocation: Reinvocation): void | Promise<void>;
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
 *     mutate, a second time if a webhook changed the object ──▶ prepare (by the kind) ──▶ allocate
 *       ──▶ validation of the object by its kind ──▶ validate
 *
 * The verbs prepare and validate the object between the calls. All reject with the StatusError of the first plugin that
 * throws.
 */
export interface AdmissionChain {
  mutate(request: AdmissionRequest): Promise<void>;
  /** Runs the mutations that upstream makes in the storage of some kinds, once and after all others. */
  allocate(request: AdmissionRequest): Promise<void>;
  validate(request: AdmissionRequest): Promise<void>;
  /** Both phases, for requests whose object no kind validates: deletes, connects and subresources with their own kind. */
  admit(request: AdmissionRequest): Promise<void>;
}

type Step = (request: AdmissionRequest, reinvocation: Reinvocation) => void | Promise<void>;
type Phase = Readonly<Record<Operation, readonly Step[]>>;

export function createAdmissionChain(
  plugins: readonly AdmissionPlugin[],
  storagePlugins: readonly AdmissionPlugin[] = [],
): AdmissionChain {
  const mutating = createPhase(plugins, "mutate");
  const allocating = createPhase(storagePlugins, "mutate");
  const validating = createPhase(plugins, "validate");
  async function mutate(request: AdmissionRequest): Promise<void> {
    let isRequired = false;
    const webhooks = { called: new Set<string>(), again: new Set<string>(), output: undefined };
    const require = () => {
      isRequired = true;
    };
    await run(mutating, request, { round: 0, require, webhooks });
    if (isRequired) await run(mutating, request, { round: 1, require, webhooks });
  }
  const allocate = (request: AdmissionRequest) => run(allocating, request, noReinvocation);
  const validate = (request: AdmissionRequest) => run(validating, request, noReinvocation);
  return {
    mutate,
    allocate,
    validate,
    async admit(request) {
      await mutate(request);
      await allocate(request);
      await validate(request);
    },
  };
}

const noReinvocation: Reinvocation = {
  round: 0,
  require: () => {},
  webhooks: { called: new Set(), again: new Set(), output: undefined },
};

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

async function run(phase: Phase, request: AdmissionRequest, reinvocation: Reinvocation): Promise<void> {
  try {
    for (const step of phase[request.operation]) {
      const pending = step(request, reinvocation);
      // Most plugins have nothing to wait for: a turn of the microtask queue for each would add up.
      if (pending) await pending;
    }
  } catch (error) {
    if (error instanceof StatusError && request.warnings?.length)
      error.warnings = [...request.warnings, ...error.warnings];
    throw error;
  }
}
