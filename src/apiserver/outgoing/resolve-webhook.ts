import { endpointsKind } from "../../api/kinds/core/endpoints/kind.ts";
import { serviceKind } from "../../api/kinds/core/service/kind.ts";
import type { Endpoints, Service } from "../../api/meta/objects.ts";
import { createLister } from "../storage/lister.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import type { WebhookTarget } from "./webhook-client.ts";

/** Address of a webhook as configurations have it. */
interface WebhookClientConfig {
  readonly url?: string;
  readonly service?: {
    readonly namespace?: string;
    readonly name?: string;
    readonly path?: string;
    readonly port?: number;
  };
  /** Base64 of PEM. */
  readonly caBundle?: string;
}

/** Finds the address of a webhook. `query` is added to its path: `?timeout=10s`. */
export type ResolveWebhook = (config: WebhookClientConfig, query?: string) => WebhookTarget;

/**
 * Finds webhooks by their URL or service. A service is reached at one of its ready endpoints, so that no proxy is needed on
 * the machine of the API server; its certificate is for `NAME.NAMESPACE.svc`.
 */
export function createWebhookResolver(
  objectStore: ObjectStore,
  random: () => number = Math.random,
): ResolveWebhook {
  const services = createLister<Service>(objectStore, serviceKind);
  const endpoints = createLister<Endpoints>(objectStore, endpointsKind);

  function endpointOf(namespace: string, name: string, port: number): { host: string; port: number } {
    const service = services.cached(namespace, name);
    if (!service) throw new Error(`service ${JSON.stringify(name)} not found`);
    if (service.spec?.type === "ExternalName") return { host: service.spec.externalName ?? "", port };
    const servicePort = service.spec?.ports?.find((candidate) => candidate.port === port);
    if (!servicePort) throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
    const addresses = (endpoints.cached(namespace, name)?.subsets ?? []).flatMap((subset) => {
      const target = subset.ports?.find((candidate) => (candidate.name ?? "") === (servicePort.name ?? ""));
      return target ? (subset.addresses ?? []).map(({ ip }) => ({ host: ip, port: target.port })) : [];
    });
    const chosen = addresses[Math.floor(random() * addresses.length)];
    if (!chosen) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
    return chosen;
  }

  return ({ url, service, caBundle }, query = "") => {
    const verified = caBundle ? { ca: Buffer.from(caBundle, "base64").toString() } : {};
    if (url !== undefined) {
      const { origin, host, hostname, port, pathname } = new URL(url);
      const path = pathname + query;
      const shown = { url: origin + path, host, path, hostname: hostname.replace(/^\[|\]$/g, "") };
      return { ...shown, port: Number(port || 443), ...verified };
    }
    const { namespace = "", name = "", path: servicePath = "/", port = 443 } = service ?? {};
    const hostname = `${name}.${namespace}.svc`;
    const path = servicePath + query;
    return {
      // As in upstream's messages, with the port although it is the default one.
      url: `https://${hostname}:${port}${path}`,
      host: `${hostname}:${port}`,
      hostname,
      port,
      path,
      connect: () => endpointOf(namespace, name, port),
      ...verified,
    };
  };
}
