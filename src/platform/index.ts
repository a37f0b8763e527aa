/** The public names of `ringback/platform`: a client of the platform's API, and the tools that the platform calls. */
export { createPlatform, type Platform } from './platform.ts';
export type { PlatformLogger, PlatformOptions, PlatformRetryOptions } from './options.ts';
export { PlatformError } from './platform-error.ts';
export type { CallOptions } from './call-options.ts';
export type { PageOptions } from './pages.ts';
export { IssuedSecret, SecretNotKeptError } from './issued-secret.ts';
export type { SecretOptions, SecretToKeep } from './keep-secret.ts';
export { readSecretFile } from './secret-file.ts';
export type { Subscription, SubscriptionRetryPolicy } from './subscription.ts';
export type { NewSubscription, SubscriptionPatch, WholeSubscription } from './subscription-fields.ts';
export type { SubscriptionWarning } from './subscription-checks.ts';
export type { RotatedSecret, SubscriptionResult, UpdateOptions } from './subscription-writer.ts';
export type { UnknownFields } from './subscription-merge.ts';
export type { EnsuredSubscription, WantedSubscription } from './ensure.ts';
export type { Subscriptions } from './subscriptions.ts';
export type { KnowledgeBase, KnowledgeBases } from './knowledge-bases.ts';
export type { CustomTool, NewCustomTool, ToolApi, ToolFunction } from './custom-tool.ts';
export type { CustomTools } from './custom-tools.ts';
export type { GeneratedPrompt, PromptRequest, Prompts } from './prompts.ts';
export type { SitemapOptions, WebsiteLinks, Websites } from './websites.ts';
export type { PlatformCall, PlatformCalls } from './calls.ts';
export type { Analyses, Analysis, AnalysisItem, AnalysisOptions } from './analyses.ts';
export { defineTool, type Tool, type ToolContext, type ToolDefinition } from './tools/define-tool.ts';
export { toolMiddleware, type ToolMiddleware } from './tools/middleware.ts';
export type { ToolMiddlewareOptions } from './tools/middleware-options.ts';
export { ToolError } from './tools/tool-error.ts';
export type { ParameterSchema, ParametersSchema } from './tools/parameters-schema.ts';
export type {
  FixedParameter,
  RegistrationOptions,
  ToolMessages,
  ToolRegistration,
} from './tools/registration.ts';
