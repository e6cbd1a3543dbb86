import type { StrategyContext } from "../../api/kinds/strategy.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics/metrics.ts";
import type { KindRegistry } from "../kinds/kind-registry.ts";
import type { ResolveWebhook } from "../outgoing/resolve-webhook.ts";
import type { WebhookClient } from "../outgoing/webhook-client.ts";
import { type AdmissionChain, createAdmissionChain } from "./admission-chain.ts";
import { createBuiltInPlugins, createStoragePlugins, type PluginDeps } from "./built-in-plugins.ts";
import { createResourceQuotaPlugin } from "./resource-quota.ts";
import { createWebhookMetrics } from "./webhooks/webhook-metrics.ts";
import { createWebhookPlugins } from "./webhooks/webhook-plugins.ts";

interface AdmissionDeps extends PluginDeps {
  readonly kinds: KindRegistry;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly webhooks: { readonly resolve: ResolveWebhook; readonly client: WebhookClient };
  strategyContext(): StrategyContext;
}

/** Creates the admission of an API server: the built-in plugins, webhooks, then quotas, in upstream's order. */
export function createAdmission(deps: AdmissionDeps): AdmissionChain {
  const { objectStore, kinds, clock, strategyContext } = deps;
  const { mutating, validating } = createWebhookPlugins({
    objectStore,
    kinds,
    clock,
    strategyContext,
    authorize: deps.escalation.authorize,
    logger: deps.logger.component("admission"),
    metrics: createWebhookMetrics(deps.metrics),
    ...deps.webhooks,
  });
  return createAdmissionChain(
    [...createBuiltInPlugins(deps), mutating, validating, createResourceQuotaPlugin({ objectStore, clock })],
    createStoragePlugins(deps),
  );
}
