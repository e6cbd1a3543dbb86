import type { KubeObject } from "../api/objects.ts";
import { StatusError } from "../api/status-error.ts";
import type { Client, ObjectKey, ObjectTypes, ResourceName } from "../client/client.ts";
import { TransportError } from "../client/transport.ts";
import { systemClock } from "../lib/clock.ts";

/** Between two tries to reach a server that is away. */
const tryAgainMs = 50;

/**
 * Watches an object until it is as asked; undefined is one that is not there. Goes on after an outage; ends with the
 * signal's reason.
 */
export async function waitUntil<Name extends ResourceName>(
  client: Client,
  { resource, key }: { readonly resource: Name; readonly key: ObjectKey },
  {
    isDone,
    signal,
  }: { isDone(object: ObjectTypes[Name] | undefined): boolean; readonly signal: AbortSignal },
): Promise<ObjectTypes[Name] | undefined> {
  const selection = { namespace: key.namespace, fieldSelector: `metadata.name=${key.name}`, signal };
  for (;;) {
    try {
      const { items, resourceVersion } = await client.list(resource, selection);
      if (isDone(items[0])) return items[0];
      for await (const event of client.watch(resource, { ...selection, resourceVersion })) {
        if (event.type === "BOOKMARK") continue;
        const object = event.type === "DELETED" ? undefined : event.object;
        if (isDone(object)) return object;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (isForGood(error)) throw error;
      await systemClock.sleep(tryAgainMs, signal);
    }
  }
}

/** What the server refuses, or what the caller's own function throws. */
function isForGood(error: unknown): boolean {
  if (error instanceof StatusError) return error.code < 500 && error.code !== 410 && error.code !== 429;
  return !(error instanceof TransportError);
}

/** `Ready`, or `Ready=False`. */
export function hasCondition(condition: string): (object: KubeObject) => boolean {
  const [type = "", status = "True"] = condition.split("=");
  if (!/^[A-Za-z][\w./-]*$/.test(type) || !/^(True|False|Unknown)$/.test(status))
    throw new TypeError(
      `${JSON.stringify(condition)} is no condition: write Type or Type=Status, like Ready or Ready=False`,
    );
  return (object) => conditionsOf(object).some((each) => each.type === type && each.status === status);
}

function conditionsOf(object: object): readonly { readonly type: string; readonly status: string }[] {
  const { status } = object as {
    readonly status?: { readonly conditions?: { type: string; status: string }[] };
  };
  return status?.conditions ?? [];
}
