// TypeScript declarations of the API that bridge.js defines in a page. Reference this file from a page's project, or
// copy it there.

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
  /** The `timeout` of the call elapsed without an answer. If `outcome` is `'failed'`, the plugin timed out instead. */
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
  /** The `timeout` of the call elapsed before the plugin started. */
  | 'expired'
  /** The plugin is still running an earlier call that timed out. */
  | 'unavailable'
  /** The plugin failed. */
  | 'threw'
  /** The program accepts no more messages. */
  | 'drain'
  | 'stop'
  | 'ackDeadline';

/** The error with which the promise of a call is rejected. */
interface SignalboxError extends Error {
  readonly name: 'SignalboxError';
  readonly code: SignalboxCode;
  /**
   * The outcome of the message in the program. It is absent if the page itself detected the error. `'accepted'` means that
   * the page detected the error after the program accepted the message: the program still handles it.
   */
  readonly outcome?: 'rejected' | 'failed' | 'abandoned' | 'accepted';
  /** The location of the error, such as `body.amount`. */
  readonly path?: string;
}

interface SignalboxCallOptions {
  /** The timeout in milliseconds, which must be above zero. By default, only the timeouts of the program apply. */
  timeout?: number;
  /** The id of the call in the program, from 1 to 128 bytes. By default, the program generates one. */
  id?: string;
  /**
   * Called once the program has the call on disk, so that it is handled even if the program or the page ends. The promise
   * settles later, with the outcome. Only a source with a journal calls this function.
   */
  onAccepted?: () => void;
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
   * This function never throws. While the page exists, the promise settles, unless the program accepts the call and keeps
   * it for its next run. It resolves to the reply of the plugin, or to `undefined` if the plugin gives no reply. Otherwise
   * it is rejected with a {@link SignalboxError}. Messages arrive in the order of the calls, including those of
   * `postMessage`.
   */
  call<Reply = unknown>(action: string, body?: SignalboxJSON, options?: SignalboxCallOptions): Promise<Reply>;

  /**
   * Listens for messages of the program for `action`, and replaces an earlier listener. Messages that arrive before the
   * listener are queued, up to the limit in the configuration of the program, and then delivered in order.
   *
   * If the program requested an answer, it receives the value that the listener returns or promises, or the error that
   * the listener throws.
   *
   * @returns A function that removes the listener.
   * @throws SignalboxError `invalidArgument`
   */
  on<Body = unknown>(action: string, listener: (body: Body, info: SignalboxMessageInfo) => unknown): () => void;
}

interface SignalboxMessageHandler {
  /**
   * Sends `message` as the body of an action with the name of the handler. An object with a member `action` is read as
   * `{action, id, body}` instead.
   *
   * This function never throws. The promise settles like that of `signalbox.call`, and may be ignored.
   */
  postMessage<Reply = unknown>(message?: SignalboxJSON): Promise<Reply>;
}

declare const signalbox: Signalbox;

interface Window {
  readonly signalbox: Signalbox;
  readonly webkit: {
    /** In a headless page, every name is a handler. In a web view, the configuration of the program lists the names. */
    readonly messageHandlers: { readonly [name: string]: SignalboxMessageHandler };
  };
}
