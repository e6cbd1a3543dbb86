import type { CustomResourceDefinition } from "../../api/custom/custom-resource-definition.ts";
import { endpointsKind } from "../../api/kinds/core/endpoints/kind.ts";
import { serviceKind } from "../../api/kinds/core/service/kind.ts";
import type { Endpoints, Service } from "../../api/meta/objects.ts";
import { createLister } from "../storage/lister.ts";
import type { ObjectStore } from "../storage/object-store.ts";
import type { ResolveWebhook } from "./conversion-webhook.ts";

/**
 * Finds webhooks by the URL or the service of a definition. A service is reached at one of its ready endpoints, so that no
 * proxy is needed on the machine of the API server; its certificate is for `NAME.NAMESPACE.svc`.
 */
export function createWebhookResolver(
  objectStore: ObjectStore,
  random: () => number = Math.random,
): ResolveWebhook {
  const services = createLister<Service>(objectStore, serviceKind);
  const endpoints = createLister<Endpoints>(objectStore, endpointsKind);
  return async ({ spec }: CustomResourceDefinition) => {
    const config = spec.conversion?.webhook?.clientConfig ?? {};
    const ca = config.caBundle ? Buffer.from(config.caBundle, "base64").toString() : undefined;
    const verified = ca === undefined ? {} : { ca };
    if (config.url !== undefined) return { url: new URL(config.url), ...verified };
    const { namespace = "", name = "", path = "/", port = 443 } = config.service ?? {};
    const service = services.cached(namespace, name);
    if (!service) throw new Error(`service ${JSON.stringify(name)} not found in namespace ${namespace}`);
    const servicePort = service.spec?.ports?.find((candidate) => candidate.port === port);
    if (!servicePort) throw new Error(`service ${namespace}/${name} has no port ${port}`);
    const addresses = (endpoints.cached(namespace, name)?.subsets ?? []).flatMap((subset) => {
      const target = subset.ports?.find((candidate) => (candidate.name ?? "") === (servicePort.name ?? ""));
      return target ? (subset.addresses ?? []).map(({ ip }) => ({ host: ip, port: target.port })) : [];
    });
    const connect = addresses[Math.floor(random() * addresses.length)];
    if (!connect) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
    return { url: new URL(`https://${name}.${namespace}.svc:${port}${path}`), connect, ...verified };
  };
}
