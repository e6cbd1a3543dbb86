import { mutatingWebhookConfigurationKind } from "../../../api/kinds/admissionregistration/mutating-webhook-configuration/kind.ts";
import { validatingWebhookConfigurationKind } from "../../../api/kinds/admissionregistration/validating-webhook-configuration/kind.ts";
import { namespaceKind } from "../../../api/kinds/core/namespace/kind.ts";
import type { KindDefinition } from "../../../api/kinds/kind-definition.ts";
import type { StrategyContext } from "../../../api/kinds/strategy.ts";
import type { KubeObject, Namespace } from "../../../api/meta/objects.ts";
import { matchesLabels } from "../../../api/meta/selector.ts";
import { internalError, notFound } from "../../../api/meta/status-error.ts";
import { applyJsonPatch } from "../../../api/patch/json-patch.ts";
import { builtInSchema } from "../../../api/schema/built-in-schema.ts";
import { decodeObject } from "../../../api/schema/decode.ts";
import type { JsonObject } from "../../../api/schema/json-object.ts";
import { definitionName } from "../../../api/schema/schema.ts";
import { messageOf } from "../../../lib/message-of.ts";
import type { KindRegistry } from "../../kinds/kind-registry.ts";
import { createLister } from "../../storage/lister.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { AdmissionPlugin, AdmissionRequest, Reinvocation } from "../admission-chain.ts";
import type { ReviewRequest } from "./admission-review.ts";
import {
  type AdmissionWebhook,
  createWebhookSource,
  matchesObject,
  matchRules,
  type WebhookSource,
} from "./admission-webhook.ts";
import { type CallDeps, callWebhook } from "./call-webhook.ts";
import { type MatchDeps, matchesConditions } from "./match-request.ts";
import {
  convertVersion,
  present,
  replaceContent,
  unpresent,
  withoutServerMetadata,
} from "./reviewed-objects.ts";

interface WebhookPluginDeps extends CallDeps, MatchDeps {
  readonly objectStore: ObjectStore;
  readonly kinds: KindRegistry;
  strategyContext(): StrategyContext;
}

/** A webhook that a request has to pass, the version in which it is called, and what it is sent. */
interface Invocation {
  readonly hook: AdmissionWebhook;
  readonly version: KindDefinition;
  readonly review: Omit<ReviewRequest, "uid">;
}

/** MutatingAdmissionWebhook and ValidatingAdmissionWebhook. */
export function createWebhookPlugins(deps: WebhookPluginDeps): {
  readonly mutating: AdmissionPlugin;
  readonly validating: AdmissionPlugin;
} {
  const { objectStore } = deps;
  const mutatingSource = createWebhookSource(createLister(objectStore, mutatingWebhookConfigurationKind));
  const validatingSource = createWebhookSource(createLister(objectStore, validatingWebhookConfigurationKind));
  const namespaces = createLister<Namespace>(objectStore, namespaceKind);

  async function namespaceLabels({ ref, subresource, object }: AdmissionRequest) {
    if (ref.resource.plural === "namespaces" && subresource === "" && object) return object.metadata.labels;
    const name = namespaceOf(ref);
    const namespace = namespaces.cached("", name) ?? (await namespaces.current("", name));
    if (!namespace) throw notFound(namespaceKind.resource, name);
    return namespace.metadata.labels;
  }

  /** Undefined if the webhook is not called. */
  async function invocationOf(
    hook: AdmissionWebhook,
    request: AdmissionRequest,
    type: "admit" | "validating",
  ): Promise<Invocation | undefined> {
    const { operation, ref, subresource, object, current } = request;
    const { resource } = ref;
    const namespace = namespaceOf(ref);
    if (!matchesObject(hook.objectSelector, [object, current])) return undefined;
    const facts = { operation, resource, subresource, namespace };
    const equivalents = () => equivalentsOf(deps.kinds, ref).map((definition) => definition.resource);
    const found = matchRules(hook.webhook, facts, equivalents);
    const version = found && deps.kinds.find(found);
    if (!version) return undefined;
    const hasNamespace = namespace !== "" && hook.namespaceSelector.length > 0;
    if (hasNamespace && !matchesLabels(hook.namespaceSelector, await namespaceLabels(request)))
      return undefined;
    const review = await reviewOf(request, version, type);
    return (await matchesConditions(deps, hook, request, review, type))
      ? { hook, version, review }
      : undefined;
  }

  function definitionOf({ ref }: AdmissionRequest): KindDefinition | undefined {
    return deps.kinds.find(ref.resource);
  }

  async function reviewOf(
    request: AdmissionRequest,
    version: KindDefinition,
    type: "admit" | "validating",
  ): Promise<Omit<ReviewRequest, "uid">> {
    const { ref, subresource, object, current, operation, user, dryRun, options } = request;
    const own = definitionOf(request) ?? version;
    const isNew = type === "admit" && operation === "create" && subresource === "";
    const shown = (value: KubeObject | undefined) =>
      value && isOfKind(request) ? convertVersion(present(value, own), own, version) : value;
    const seen = object && isNew ? withoutServerMetadata(object, request.hasGeneratedName ?? false) : object;
    const hidesName = isNew && request.hasGeneratedName;
    return {
      kind: kindOf(request, version),
      resource: resourceOf(version),
      requestKind: kindOf(request, own),
      requestResource: resourceOf(own),
      subresource,
      name: hidesName ? "" : ref.name,
      namespace: namespaceOf(ref),
      operation: operation.toUpperCase(),
      user,
      object: await shown(seen),
      oldObject: await shown(current),
      dryRun,
      options,
    };
  }

  /** Applies the patch of a webhook. Returns whether it changed the object. */
  async function applyReviewPatch(
    request: AdmissionRequest,
    { hook, version, review: { object: shown } }: Invocation,
    patch: unknown,
  ): Promise<boolean> {
    const { object } = request;
    if (!Array.isArray(patch) || patch.length === 0) return false;
    if (!object || !shown || request.operation === "connect") {
      const name = JSON.stringify(hook.webhook.name);
      throw internalError(
        `admission webhook ${name} attempted to modify the object, which is not supported for this operation`,
      );
    }
    const own = definitionOf(request) ?? version;
    const before = JSON.stringify(shown);
    try {
      const patched = applyJsonPatch(JSON.parse(before), patch);
      const next = isOfKind(request)
        ? unpresent(await convertVersion(decodePatched(version, patched), version, own), own)
        : decodeOwnKind(object, patched);
      replaceContent(object, next);
    } catch (error) {
      throw internalError(messageOf(error));
    }
    if (isOfKind(request)) own.strategy.applyDefaults?.(object, deps.strategyContext());
    return true;
  }

  async function mutate(
    request: AdmissionRequest,
    { round, require, webhooks }: Reinvocation,
  ): Promise<void> {
    const json = () => JSON.stringify(request.object);
    const requireAgain = () => {
      for (const id of webhooks.called) webhooks.again.add(id);
      webhooks.called = new Set();
    };
    if (round === 1 && webhooks.output !== json()) requireAgain();
    for (const hook of mutatingSource()) {
      const invocation = await invocationOf(hook, request, "admit");
      if (!invocation || (round === 1 && !webhooks.again.has(hook.id))) continue;
      const before = json();
      const patch = await callWebhook(deps, hook, request, invocation.review, "admit");
      await applyReviewPatch(request, invocation, patch);
      if (json() !== before) {
        requireAgain();
        require();
      }
      if (hook.webhook.reinvocationPolicy === "IfNeeded") webhooks.called.add(hook.id);
    }
    webhooks.output = json();
  }

  async function validate(request: AdmissionRequest): Promise<void> {
    const invocations: Invocation[] = [];
    for (const hook of validatingSource()) {
      const invocation = await invocationOf(hook, request, "validating");
      if (invocation) invocations.push(invocation);
    }
    const calls = invocations.map(({ hook, review }) =>
      callWebhook(deps, hook, request, review, "validating"),
    );
    const results = await Promise.allSettled(calls);
    const failed = results.find((result) => result.status === "rejected");
    if (failed) throw failed.reason;
  }

  return {
    mutating: { name: "MutatingAdmissionWebhook", handles, mutate: unlessExempt(mutatingSource, mutate) },
    validating: {
      name: "ValidatingAdmissionWebhook",
      handles,
      validate: unlessExempt(validatingSource, validate),
    },
  };
}

const handles = () => true;

/** Kinds that configure admission. Webhooks do not get them, so that a broken webhook can always be repaired. */
const exemptGroup = "admissionregistration.k8s.io";

function unlessExempt<Rest extends unknown[]>(
  source: WebhookSource,
  run: (request: AdmissionRequest, ...rest: Rest) => Promise<void>,
) {
  return (request: AdmissionRequest, ...rest: Rest): Promise<void> | undefined =>
    request.ref.resource.group === exemptGroup || source().length === 0 ? undefined : run(request, ...rest);
}

/** As upstream, the namespace of a request about a namespace is its own name. */
function namespaceOf({ resource, namespace, name }: AdmissionRequest["ref"]): string {
  return resource.group === "" && resource.plural === "namespaces" ? name : namespace;
}

/** The other kinds with the same stored objects: versions of a custom resource, and both groups of events. */
function equivalentsOf(kinds: KindRegistry, { resource }: AdmissionRequest["ref"]): KindDefinition[] {
  return kinds
    .list()
    .filter((other) => other.resource.storedAs === resource.storedAs && other.conversion !== undefined)
    .filter((other) => other.resource.version !== resource.version);
}

/** False for subresources with a separate kind: bindings, evictions, tokens and connections. */
function isOfKind({ subresource }: AdmissionRequest): boolean {
  return subresource === "" || subresource === "status";
}

function kindOf(request: AdmissionRequest, { resource }: KindDefinition): ReviewRequest["kind"] {
  const { object } = request;
  if (isOfKind(request) || !object) {
    const { group, version, kind } = resource;
    return { group, version, kind };
  }
  const [group, version] = object.apiVersion.includes("/")
    ? object.apiVersion.split("/", 2)
    : ["", object.apiVersion];
  return { group: group ?? "", version: version ?? "", kind: object.kind };
}

function resourceOf({ resource }: KindDefinition): ReviewRequest["resource"] {
  const { group, version, plural } = resource;
  return { group, version, resource: plural };
}

function decodePatched({ schema, resource }: KindDefinition, patched: unknown): KubeObject {
  const { object } = decodeObject(schema, definitionName(resource), patched);
  // Safe: the object has been decoded against its definition.
  return object as unknown as KubeObject;
}

function decodeOwnKind({ apiVersion, kind }: KubeObject, patched: unknown): KubeObject {
  const [group = "", version = ""] = apiVersion.includes("/") ? apiVersion.split("/", 2) : ["", apiVersion];
  const { object } = decodeObject(
    builtInSchema,
    definitionName({ group, version, kind }),
    patched as JsonObject,
  );
  return object as unknown as KubeObject;
}
