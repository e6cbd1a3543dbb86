import type { ValidatingWebhookConfiguration } from "../../../meta/objects.ts";
import { defineWebhookConfiguration } from "../webhook/define-webhook-configuration.ts";

export const validatingWebhookConfigurationKind = defineWebhookConfiguration<ValidatingWebhookConfiguration>({
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
});
