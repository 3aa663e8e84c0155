// TypeScript declarations of the API that bridge.js defines in a page: reference this file, or copy it.

/** The type of arguments and replies. Members that are `undefined` are omitted. */
type SignalboxJSON =
  | null
  | boolean
  | number
  | string
  | readonly SignalboxJSON[]
  | { readonly [name: string]: SignalboxJSON | undefined }
  | { toJSON(key?: string): SignalboxJSON };

/** The reason why a call was not handled. */
type SignalboxCode =
  /** An argument has no JSON form, or an option is out of range. Nothing was sent. `path` is the location. */
  | 'invalidArgument'
  /** The call's `timeout` elapsed without an answer or, with `outcome: 'failed'`, the plugin timed out. */
  | 'timeout'
  /** The page is closing or was left, or the connection to the program was lost. */
  | 'closed'
  /** Too many messages are queued in the page. Nothing was sent. */
  | 'full'
  /** The name is not a valid action name, or the message is too large. `path` is the location. */
  | 'malformed'
  /** No plugin is registered for the action. */
  | 'unknownAction'
  /** The page is not allowed to call the action. */
  | 'sourceNotAllowed'
  /** The plugin cannot decode the body. `path` is the location, such as `body.amount`. */
  | 'invalidBody'
  /** The call's `timeout` elapsed before the plugin started. */
  | 'expired'
  /** The plugin is still running an earlier call that timed out. */
  | 'unavailable'
  /** The plugin failed. */
  | 'threw'
  /** The program accepts no more messages. */
  | 'drain'
  | 'stop'
  | 'ackDeadline';

/** The rejection reason of a call's promise. */
interface SignalboxError extends Error {
  readonly name: 'SignalboxError';
  readonly code: SignalboxCode;
  /** The outcome of the message in the program. Absent if the page itself detected the error. */
  readonly outcome?: 'rejected' | 'failed' | 'abandoned';
  /** The location of the error, such as `body.amount`. */
  readonly path?: string;
}

interface SignalboxCallOptions {
  /** The timeout, in milliseconds, above zero. By default only the program's own timeouts apply. */
  timeout?: number;
  /** The id of the call in the program, 1 to 128 bytes. By default the program generates one. */
  id?: string;
}

interface SignalboxMessageInfo {
  readonly action: string;
  /** The id, if the program set one. */
  readonly id?: string;
}

interface Signalbox {
  /**
   * Calls the plugin that is registered for `action`.
   *
   * Never throws. While the page exists, the promise always settles: with the plugin's reply, with `undefined` if it has
   * none, or with a {@link SignalboxError}. Messages arrive in the order of the calls, `postMessage` included.
   */
  call<Reply = unknown>(action: string, body?: SignalboxJSON, options?: SignalboxCallOptions): Promise<Reply>;

  /**
   * Listens for the program's messages for `action` and replaces an earlier listener. Messages that arrived before are
   * queued, up to the limit in the program's configuration, and delivered in order.
   *
   * If the program requested an answer, it receives the listener's return value or promised value, or the thrown error.
   *
   * @returns A function that removes the listener.
   * @throws SignalboxError `invalidArgument`
   */
  on<Body = unknown>(action: string, listener: (body: Body, info: SignalboxMessageInfo) => unknown): () => void;
}

interface SignalboxMessageHandler {
  /**
   * Sends `message` as the body of an action with the handler's name. An object with a member `action` is read as
   * `{action, id, body}` instead. Never throws. The promise settles like that of `signalbox.call` and may be ignored.
   */
  postMessage<Reply = unknown>(message?: SignalboxJSON): Promise<Reply>;
}

declare const signalbox: Signalbox;

interface Window {
  readonly signalbox: Signalbox;
  readonly webkit: {
    /** In a headless page every name is a handler. In a web view the program's configuration lists the names. */
    readonly messageHandlers: { readonly [name: string]: SignalboxMessageHandler };
  };
}
