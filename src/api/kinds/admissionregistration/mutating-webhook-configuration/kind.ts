import type { MutatingWebhookConfiguration } from "../../../meta/objects.ts";
import { defineWebhookConfiguration } from "../webhook/define-webhook-configuration.ts";

export const mutatingWebhookConfigurationKind = defineWebhookConfiguration<MutatingWebhookConfiguration>({
  plural: "mutatingwebhookconfigurations",
  kind: "MutatingWebhookConfiguration",
});
