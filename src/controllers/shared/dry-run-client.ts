import type { KubeObject } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { Logger } from "../../lib/logger.ts";

/** Creates a client that passes reads on and logs writes instead of sending them. */
export function createDryRunClient(client: Client, logger: Logger): Client {
  function logWrite(action: string, resource: string, fields: Record<string, unknown>): void {
    // Events only repeat what the other writes show.
    if (resource !== "events") logger.info(`would ${action}`, { resource, ...fields });
  }
  const fieldsOf = (object: KubeObject) => ({ key: keyOf(object), object });

  return {
    ...client,
    async create(resource, object) {
      logWrite("create", resource, fieldsOf(object));
      return object;
    },
    async update(resource, object, { subresource } = {}) {
      logWrite("update", resource, { ...fieldsOf(object), ...(subresource && { subresource }) });
      return object;
    },
    async patch(resource, { namespace, name }, { patch, subresource, signal }) {
      logWrite("patch", resource, {
        key: namespace ? `${namespace}/${name}` : name,
        patch: patch.body,
        subresource,
      });
      return client.get(resource, { namespace, name }, { signal });
    },
    async delete(resource, { namespace, name }) {
      logWrite("delete", resource, { key: namespace ? `${namespace}/${name}` : name });
    },
    async deleteCollection(resource, { namespace, labelSelector, fieldSelector }) {
      logWrite("delete all", resource, { namespace, labelSelector, fieldSelector });
    },
    resource(id) {
      const real = client.resource<never>(id);
      const { plural } = id;
      return {
        ...real,
        async create(object: KubeObject) {
          logWrite("create", plural, fieldsOf(object));
          return object as never;
        },
        async update(object: KubeObject) {
          logWrite("update", plural, fieldsOf(object));
          return object as never;
        },
        async patch({ namespace, name }, { patch, signal }) {
          logWrite("patch", plural, { key: namespace ? `${namespace}/${name}` : name, patch: patch.body });
          return real.get({ namespace, name }, { signal });
        },
        async delete({ namespace, name }) {
          logWrite("delete", plural, { key: namespace ? `${namespace}/${name}` : name });
        },
        async deleteCollection({ namespace, labelSelector, fieldSelector }) {
          logWrite("delete all", plural, { namespace, labelSelector, fieldSelector });
        },
      };
    },
    async request(method, path, options) {
      if (method === "GET") return client.request(method, path, options);
      logger.info("would send", { method, path, body: options?.body });
      throw new Error(`${method} ${path} is not sent: this is a dry run`);
    },
  };
}
