import { isEqual } from "../../../meta/is-equal.ts";
import { ageColumn, column, nameColumn } from "../../columns.ts";
import { defineKind, type KindDefinition } from "../../kind-definition.ts";
import { raiseGeneration, type Strategy, startGeneration } from "../../strategy.ts";
import { loadConditionEngine } from "../conditions/condition-engine.ts";
import { validateWebhooks } from "./validate-webhooks.ts";
import type { Webhook, WebhookConfiguration } from "./webhook.ts";

/** Defines one of the two kinds that configure admission webhooks. */
export function defineWebhookConfiguration<T extends WebhookConfiguration>(resource: {
  readonly plural: string;
  readonly kind: string;
}): KindDefinition {
  const isMutating = resource.kind.startsWith("Mutating");
  const strategy: Strategy<T> = {
    allowUnconditionalUpdate: false,
    async load({ webhooks = [] }) {
      if (webhooks.some(({ matchConditions }) => matchConditions?.length)) await loadConditionEngine();
    },
    applyDefaults({ webhooks }) {
      for (const webhook of webhooks ?? []) applyDefaults(webhook, isMutating);
    },
    prepareForCreate: startGeneration,
    prepareForUpdate(next, current) {
      if (!isEqual(next.webhooks, current.webhooks)) raiseGeneration(next, current);
    },
    validate: ({ webhooks = [] }) => validateWebhooks(webhooks, undefined),
    validateUpdate: ({ webhooks = [] }, current) => validateWebhooks(webhooks, current.webhooks ?? []),
  };
  return defineKind<T>({
    resource: {
      group: "admissionregistration.k8s.io",
      version: "v1",
      ...resource,
      namespaced: false,
      categories: ["api-extensions"],
    },
    strategy,
    columns: [
      nameColumn,
      column(
        "Webhooks",
        "Number of webhooks in this configuration",
        ({ webhooks }) => webhooks?.length ?? 0,
        {
          type: "integer",
        },
      ),
      ageColumn,
    ],
  });
}

function applyDefaults(webhook: Webhook, isMutating: boolean): void {
  webhook.failurePolicy ??= "Fail";
  webhook.matchPolicy ??= "Equivalent";
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= 10;
  if (isMutating) webhook.reinvocationPolicy ??= "Never";
  for (const rule of webhook.rules ?? []) rule.scope ??= "*";
  if (webhook.clientConfig?.service) webhook.clientConfig.service.port ??= 443;
}
