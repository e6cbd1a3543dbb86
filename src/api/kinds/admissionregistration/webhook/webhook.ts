import type * as k8s from "@kubernetes/client-node";
import type { KubeObject, Wire } from "../../../meta/objects.ts";

/** One webhook of a configuration. Only mutating webhooks have a reinvocationPolicy. */
export type Webhook = Wire<k8s.V1MutatingWebhook>;

export type WebhookConfiguration = KubeObject & { webhooks?: Webhook[] };
