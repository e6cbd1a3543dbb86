import type { FieldNumber } from "../schema.ts";
import { coreFieldNumbers, volumeFieldNumbers } from "./core-field-numbers.ts";

/** Field numbers of all other groups and of meta/v1, in the format described below. */
const groupFieldNumbers = `
admissionregistration.v1.MatchCondition: name expression
admissionregistration.v1.MutatingWebhook: name clientConfig rules failurePolicy namespaceSelector sideEffects
  timeoutSeconds admissionReviewVersions matchPolicy reinvocationPolicy objectSelector matchConditions
admissionregistration.v1.MutatingWebhookConfiguration: metadata webhooks
admissionregistration.v1.Rule: apiGroups apiVersions resources scope
admissionregistration.v1.RuleWithOperations: operations ...admissionregistration.v1.Rule
admissionregistration.v1.ServiceReference: namespace name path port
admissionregistration.v1.ValidatingWebhook: name clientConfig rules failurePolicy namespaceSelector sideEffects
  timeoutSeconds admissionReviewVersions matchPolicy objectSelector matchConditions
admissionregistration.v1.ValidatingWebhookConfiguration: metadata webhooks
admissionregistration.v1.WebhookClientConfig: service caBundle url
apiextensions.v1.CustomResourceColumnDefinition: name type format description priority jsonPath
apiextensions.v1.CustomResourceConversion: strategy webhook
apiextensions.v1.CustomResourceDefinition: metadata spec status
apiextensions.v1.CustomResourceDefinitionCondition: type status lastTransitionTime reason message
  observedGeneration
apiextensions.v1.CustomResourceDefinitionNames: plural singular shortNames kind listKind categories
apiextensions.v1.CustomResourceDefinitionSpec: group names=3 scope versions=7 conversion=9 preserveUnknownFields
apiextensions.v1.CustomResourceDefinitionStatus: conditions acceptedNames storedVersions observedGeneration
apiextensions.v1.CustomResourceDefinitionVersion: name served storage schema subresources
  additionalPrinterColumns deprecated deprecationWarning selectableFields
apiextensions.v1.CustomResourceSubresourceScale: specReplicasPath statusReplicasPath labelSelectorPath
apiextensions.v1.CustomResourceSubresources: status scale
apiextensions.v1.CustomResourceValidation: openAPIV3Schema
apiextensions.v1.ExternalDocumentation: description url
apiextensions.v1.JSONSchemaProps: id $schema $ref description type format title default maximum exclusiveMaximum
  minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems multipleOf enum
  maxProperties minProperties required items allOf oneOf anyOf not properties additionalProperties
  patternProperties dependencies additionalItems definitions externalDocs example nullable
  x-kubernetes-preserve-unknown-fields x-kubernetes-embedded-resource x-kubernetes-int-or-string
  x-kubernetes-list-map-keys x-kubernetes-list-type x-kubernetes-map-type x-kubernetes-validations
apiextensions.v1.SelectableField: jsonPath
apiextensions.v1.ServiceReference: namespace name path port
apiextensions.v1.ValidationRule: rule message messageExpression reason fieldPath optionalOldSelf
apiextensions.v1.WebhookClientConfig: service caBundle url
apiextensions.v1.WebhookConversion: clientConfig=2 conversionReviewVersions
apps.v1.ControllerRevision: metadata data revision
apps.v1.DaemonSet: metadata spec status
apps.v1.DaemonSetCondition: type status lastTransitionTime reason message
apps.v1.DaemonSetSpec: selector template updateStrategy minReadySeconds revisionHistoryLimit=6
apps.v1.DaemonSetStatus: currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady
  observedGeneration updatedNumberScheduled numberAvailable numberUnavailable collisionCount conditions
apps.v1.DaemonSetUpdateStrategy: type rollingUpdate
apps.v1.Deployment: metadata spec status
apps.v1.DeploymentCondition: type status reason=4 message lastUpdateTime lastTransitionTime
apps.v1.DeploymentSpec: replicas selector template strategy minReadySeconds revisionHistoryLimit paused
  progressDeadlineSeconds=9
apps.v1.DeploymentStatus: observedGeneration replicas updatedReplicas availableReplicas unavailableReplicas
  conditions readyReplicas collisionCount terminatingReplicas
apps.v1.DeploymentStrategy: type rollingUpdate
apps.v1.ReplicaSet: metadata spec status
apps.v1.ReplicaSetCondition: type status lastTransitionTime reason message
apps.v1.ReplicaSetSpec: replicas selector template minReadySeconds
apps.v1.ReplicaSetStatus: replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas
  conditions terminatingReplicas
apps.v1.RollingUpdateDaemonSet: maxUnavailable maxSurge
apps.v1.RollingUpdateDeployment: maxUnavailable maxSurge
apps.v1.RollingUpdateStatefulSetStrategy: partition maxUnavailable
apps.v1.StatefulSet: metadata spec status
apps.v1.StatefulSetCondition: type status lastTransitionTime reason message
apps.v1.StatefulSetOrdinals: start
apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy: whenDeleted whenScaled
apps.v1.StatefulSetSpec: replicas selector template volumeClaimTemplates serviceName podManagementPolicy
  updateStrategy revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals
apps.v1.StatefulSetStatus: observedGeneration replicas readyReplicas currentReplicas updatedReplicas
  currentRevision updateRevision collisionCount=9 conditions availableReplicas
apps.v1.StatefulSetUpdateStrategy: type rollingUpdate
authentication.v1.BoundObjectReference: kind apiVersion name uid
authentication.v1.SelfSubjectReview: metadata status
authentication.v1.SelfSubjectReviewStatus: userInfo
authentication.v1.TokenRequest: metadata spec status
authentication.v1.TokenRequestSpec: audiences boundObjectRef=3 expirationSeconds
authentication.v1.TokenRequestStatus: token expirationTimestamp
authentication.v1.TokenReview: metadata spec status
authentication.v1.TokenReviewSpec: token audiences
authentication.v1.TokenReviewStatus: authenticated user error audiences
authentication.v1.UserInfo: username uid groups extra
authorization.v1.FieldSelectorAttributes: rawSelector requirements
authorization.v1.LabelSelectorAttributes: rawSelector requirements
authorization.v1.LocalSubjectAccessReview: metadata spec status
authorization.v1.NonResourceAttributes: path verb
authorization.v1.NonResourceRule: verbs nonResourceURLs
authorization.v1.ResourceAttributes: namespace verb group version resource subresource name fieldSelector
  labelSelector
authorization.v1.ResourceRule: verbs apiGroups resources resourceNames
authorization.v1.SelfSubjectAccessReview: metadata spec status
authorization.v1.SelfSubjectAccessReviewSpec: resourceAttributes nonResourceAttributes
authorization.v1.SelfSubjectRulesReview: metadata spec status
authorization.v1.SelfSubjectRulesReviewSpec: namespace
authorization.v1.SubjectAccessReview: metadata spec status
authorization.v1.SubjectAccessReviewSpec: resourceAttributes nonResourceAttributes user groups extra uid
authorization.v1.SubjectAccessReviewStatus: allowed reason evaluationError denied
authorization.v1.SubjectRulesReviewStatus: resourceRules nonResourceRules incomplete evaluationError
autoscaling.v1.Scale: metadata spec status
autoscaling.v1.ScaleSpec: replicas
autoscaling.v1.ScaleStatus: replicas selector
batch.v1.CronJob: metadata spec status
batch.v1.CronJobSpec: schedule startingDeadlineSeconds concurrencyPolicy suspend jobTemplate
  successfulJobsHistoryLimit failedJobsHistoryLimit timeZone
batch.v1.CronJobStatus: active lastScheduleTime=4 lastSuccessfulTime
batch.v1.Job: metadata spec status
batch.v1.JobCondition: type status lastProbeTime lastTransitionTime reason message
batch.v1.JobSpec: parallelism completions activeDeadlineSeconds selector manualSelector template backoffLimit
  ttlSecondsAfterFinished completionMode suspend podFailurePolicy backoffLimitPerIndex maxFailedIndexes
  podReplacementPolicy managedBy successPolicy
batch.v1.JobStatus: conditions startTime completionTime active succeeded failed completedIndexes
  uncountedTerminatedPods ready failedIndexes terminating
batch.v1.JobTemplateSpec: metadata spec
batch.v1.PodFailurePolicy: rules
batch.v1.PodFailurePolicyOnExitCodesRequirement: containerName operator values
batch.v1.PodFailurePolicyOnPodConditionsPattern: type status
batch.v1.PodFailurePolicyRule: action onExitCodes onPodConditions
batch.v1.SuccessPolicy: rules
batch.v1.SuccessPolicyRule: succeededIndexes succeededCount
batch.v1.UncountedTerminatedPods: succeeded failed
coordination.v1.Lease: metadata spec
coordination.v1.LeaseSpec: holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions strategy
  preferredHolder
discovery.v1.Endpoint: addresses conditions hostname targetRef deprecatedTopology nodeName zone hints
discovery.v1.EndpointConditions: ready serving terminating
discovery.v1.EndpointHints: forZones forNodes
discovery.v1.EndpointPort: name protocol port appProtocol
discovery.v1.EndpointSlice: metadata endpoints ports addressType
discovery.v1.ForNode: name
discovery.v1.ForZone: name
events.v1.Event: metadata eventTime series reportingController reportingInstance action reason regarding
  related note type deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount
events.v1.EventSeries: count lastObservedTime
meta.v1.Condition: type status observedGeneration lastTransitionTime reason message
meta.v1.DeleteOptions: gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun
  ignoreStoreReadErrorWithClusterBreakingPotential
meta.v1.FieldSelectorRequirement: key operator values
meta.v1.LabelSelector: matchLabels matchExpressions
meta.v1.LabelSelectorRequirement: key operator values
meta.v1.ListMeta: selfLink resourceVersion continue remainingItemCount shardInfo
meta.v1.ManagedFieldsEntry: manager operation apiVersion time fieldsType=6 fieldsV1 subresource
meta.v1.ObjectMeta: name generateName namespace selfLink uid resourceVersion generation creationTimestamp
  deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers managedFields=17
meta.v1.OwnerReference: kind name=3 uid apiVersion controller blockOwnerDeletion
meta.v1.Preconditions: uid resourceVersion
meta.v1.ShardInfo: selector
meta.v1.Status: metadata status message reason details code
meta.v1.StatusCause: reason message field
meta.v1.StatusDetails: name group kind causes retryAfterSeconds uid
networking.v1.HTTPIngressPath: path backend pathType
networking.v1.HTTPIngressRuleValue: paths
networking.v1.IPBlock: cidr except
networking.v1.Ingress: metadata spec status
networking.v1.IngressBackend: resource=3 service
networking.v1.IngressClass: metadata spec
networking.v1.IngressClassParametersReference: apiGroup kind name scope namespace
networking.v1.IngressClassSpec: controller parameters
networking.v1.IngressLoadBalancerIngress: ip hostname ports=4
networking.v1.IngressLoadBalancerStatus: ingress
networking.v1.IngressPortStatus: port protocol error
networking.v1.IngressRule: host ...networking.v1.IngressRuleValue
networking.v1.IngressRuleValue: http
networking.v1.IngressServiceBackend: name port
networking.v1.IngressSpec: defaultBackend tls rules ingressClassName
networking.v1.IngressStatus: loadBalancer
networking.v1.IngressTLS: hosts secretName
networking.v1.NetworkPolicy: metadata spec
networking.v1.NetworkPolicyEgressRule: ports to
networking.v1.NetworkPolicyIngressRule: ports from
networking.v1.NetworkPolicyPeer: podSelector namespaceSelector ipBlock
networking.v1.NetworkPolicyPort: protocol port endPort
networking.v1.NetworkPolicySpec: podSelector ingress egress policyTypes
networking.v1.ServiceBackendPort: name number
node.v1.Overhead: podFixed
node.v1.RuntimeClass: metadata handler overhead scheduling
node.v1.Scheduling: nodeSelector tolerations
policy.v1.Eviction: metadata deleteOptions
policy.v1.PodDisruptionBudget: metadata spec status
policy.v1.PodDisruptionBudgetSpec: minAvailable selector maxUnavailable unhealthyPodEvictionPolicy
policy.v1.PodDisruptionBudgetStatus: observedGeneration disruptedPods disruptionsAllowed currentHealthy
  desiredHealthy expectedPods conditions
rbac.v1.AggregationRule: clusterRoleSelectors
rbac.v1.ClusterRole: metadata rules aggregationRule
rbac.v1.ClusterRoleBinding: metadata subjects roleRef
rbac.v1.PolicyRule: verbs apiGroups resources resourceNames nonResourceURLs
rbac.v1.Role: metadata rules
rbac.v1.RoleBinding: metadata subjects roleRef
rbac.v1.RoleRef: apiGroup kind name
rbac.v1.Subject: kind apiGroup name namespace
scheduling.v1.PriorityClass: metadata value globalDefault description preemptionPolicy
storage.v1.StorageClass: metadata provisioner parameters reclaimPolicy mountOptions allowVolumeExpansion
  volumeBindingMode allowedTopologies
`;

// Protobuf field numbers of upstream 1.36, by the names of the schema. They are part of its API and never change.
//
// The first field of a definition has number 1 and each other field the number after its predecessor's, unless `name=9`
// sets another. `...name` is a message with its own number whose fields are inlined in JSON.
let lines: ReadonlyMap<string, string> | undefined;

function readLines(): ReadonlyMap<string, string> {
  return new Map(
    [coreFieldNumbers, volumeFieldNumbers, groupFieldNumbers].flatMap((table) =>
      table
        .trim()
        .split(/\n(?=\S)/)
        .map((line) => {
          const [definition = "", fields = ""] = line.split(": ");
          return [definition, fields] as const;
        }),
    ),
  );
}

/** Undefined for a definition that is not in the tables. The tables are parsed on first use. */
export function fieldNumbersOf(definition: string): readonly FieldNumber[] | undefined {
  lines ??= readLines();
  let last = 0;
  return lines
    .get(definition)
    ?.split(/\s+/)
    .map((word) => {
      const [field = "", number] = word.split("=");
      last = number ? Number(number) : last + 1;
      return [field, last] as const;
    });
}
