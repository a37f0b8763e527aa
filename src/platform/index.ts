/**
 * The public names of `ringback/platform`: a client of the platform's API, and the tools that the platform calls.
 *
 * @module ringback/platform
 */
export { createPlatform, type Platform } from './platform.ts';
export type { PlatformLogger, PlatformOptions, PlatformRetryOptions } from './options.ts';
export { PlatformError } from './requests/platform-error.ts';
export type { CallOptions, PageOptions } from './requests/call-options.ts';
export { IssuedSecret, SecretNotKeptError } from './secrets/issued-secret.ts';
export type { SecretOptions, SecretToKeep } from './secrets/keep-secret.ts';
export { readSecretFile } from './secrets/secret-file.ts';
export type { Subscription, SubscriptionRetryPolicy } from './subscriptions/subscription.ts';
export type {
  NewSubscription,
  SubscriptionPatch,
  UnknownFields,
  UpdateOptions,
  WantedSubscription,
  WholeSubscription,
} from './subscriptions/fields.ts';
export type { SubscriptionWarning } from './subscriptions/checks.ts';
export type { RotatedSecret, SubscriptionResult } from './subscriptions/writer.ts';
export type { EnsuredSubscription } from './subscriptions/ensure.ts';
export type { Subscriptions } from './subscriptions/subscriptions.ts';
export type {
  KnowledgeBase,
  KnowledgeBaseFields,
  SearchResult,
  SearchResults,
} from './resources/knowledge-base.ts';
export type { KnowledgeBasePaths } from './resources/knowledge-base-paths.ts';
export type { KnowledgeBases, SearchOptions } from './resources/knowledge-bases.ts';
export type { CompletedOptions, Documents } from './documents/documents.ts';
export type { KnowledgeDocument } from './documents/document.ts';
export type { FileToUpload, Submission } from './documents/submission.ts';
export type { CustomTool, NewCustomTool, ToolApi, ToolFunction } from './resources/custom-tool.ts';
export type { CustomTools } from './resources/custom-tools.ts';
export type { EnsuredCustomTool } from './resources/custom-tool.ts';
export type { GeneratedPrompt, PromptRequest, Prompts } from './resources/prompts.ts';
export type { SitemapOptions, WebsiteLinks, Websites } from './resources/websites.ts';
export type { PlatformCall, PlatformCalls } from './resources/calls.ts';
export type { Analyses, Analysis, AnalysisItem, AnalysisOptions } from './resources/analyses.ts';
export { defineTool, type Tool, type ToolContext, type ToolDefinition } from './tools/define-tool.ts';
export { toolMiddleware, type ToolMiddleware } from './tools/middleware.ts';
export type { ToolMiddlewareOptions } from './tools/middleware.ts';
export { ToolError } from './tools/tool-error.ts';
export type { ParameterSchema, ParametersSchema } from './tools/parameters-schema.ts';
export type {
  FixedParameter,
  RegistrationOptions,
  ToolMessages,
  ToolRegistration,
} from './tools/registration.ts';
