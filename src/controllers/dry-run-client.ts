import type { KubeObject } from "../api/objects.ts";
import type { Client, ResourceName } from "../client/client.ts";
import { keyOf } from "../client/object-key.ts";
import type { Logger } from "../lib/logger.ts";

/** A client that reads, and says what it would write. */
export function createDryRunClient(client: Client, logger: Logger): Client {
  function say(action: string, resource: ResourceName, fields: Record<string, unknown>): void {
    // Events only tell what the other lines tell.
    if (resource !== "events") logger.info(`would ${action}`, { resource, ...fields });
  }
  const about = (object: KubeObject) => ({ key: keyOf(object), object });

  return {
    ...client,
    async create(resource, object) {
      say("create", resource, about(object));
      return object;
    },
    async update(resource, object, { subresource } = {}) {
      say("update", resource, { ...about(object), ...(subresource && { subresource }) });
      return object;
    },
    async patch(resource, { namespace, name }, { patch, subresource, signal }) {
      say("patch", resource, {
        key: namespace ? `${namespace}/${name}` : name,
        patch: patch.body,
        subresource,
      });
      return client.get(resource, { namespace, name }, { signal });
    },
    async delete(resource, { namespace, name }) {
      say("delete", resource, { key: namespace ? `${namespace}/${name}` : name });
    },
    async deleteCollection(resource, { namespace, labelSelector, fieldSelector }) {
      say("delete all", resource, { namespace, labelSelector, fieldSelector });
    },
    async request(method, path, options) {
      if (method === "GET") return client.request(method, path, options);
      logger.info("would send", { method, path, body: options?.body });
      throw new Error(`${method} ${path} is not sent: this is a dry run`);
    },
  };
}
