// What bridge.js gives a page, for TypeScript: reference this file, or copy it.

/** What an argument and a reply may be. Members that are `undefined` are left out. */
type SignalboxJSON =
  | null
  | boolean
  | number
  | string
  | readonly SignalboxJSON[]
  | { readonly [name: string]: SignalboxJSON | undefined }
  | { toJSON(key?: string): SignalboxJSON };

/** Why a call was not handled. */
type SignalboxCode =
  /** The page's argument has no JSON form, or an option is out of range; nothing was sent. `path` says where. */
  | 'invalidArgument'
  /** No answer came within the call's `timeout`; or, with `outcome: 'failed'`, the plugin was too slow. */
  | 'timeout'
  /** The page ends or was left, or the connection to the program is gone. */
  | 'closed'
  /** Too many messages wait in the page. Nothing was sent. */
  | 'full'
  /** The message is not an action: its name is not in the grammar, or it is too large. `path` says where. */
  | 'malformed'
  /** No plugin is registered for the action. */
  | 'unknownAction'
  /** This page may not call the action. */
  | 'sourceNotAllowed'
  /** The body is not what the plugin takes. `path` says where, such as `body.amount`. */
  | 'invalidBody'
  /** The call's `timeout` passed before the plugin could begin. */
  | 'expired'
  /** The plugin still works on an earlier call that took too long. */
  | 'unavailable'
  /** The plugin failed. */
  | 'threw'
  /** The program takes no more messages. */
  | 'drain'
  | 'stop'
  | 'holdLimit';

/** What the promise of a call is rejected with. */
interface SignalboxError extends Error {
  readonly name: 'SignalboxError';
  readonly code: SignalboxCode;
  /** What became of the message in the program; absent when the page itself found the error. */
  readonly outcome?: 'rejected' | 'failed' | 'abandoned';
  /** What was at fault, such as `body.amount`. */
  readonly path?: string;
}

interface SignalboxCallOptions {
  /** How long to wait, in milliseconds, above zero. Without it the program's own timeouts hold. */
  timeout?: number;
  /** What the program knows the call by, 1 to 128 bytes; else it makes one. */
  id?: string;
}

interface SignalboxMessageInfo {
  readonly action: string;
  /** Only where the program gave one. */
  readonly id?: string;
}

interface Signalbox {
  /**
   * Calls the plugin that is registered for `action`.
   *
   * Never throws. The promise always settles while the page lives: with the plugin's reply, `undefined` when it has none,
   * or a {@link SignalboxError}. Messages arrive in the order of the calls, `postMessage` included.
   */
  call<Reply = unknown>(action: string, body?: SignalboxJSON, options?: SignalboxCallOptions): Promise<Reply>;

  /**
   * Listens for what the program sends under `action`, in place of an earlier listener. Messages that came before wait,
   * as many as the program's configuration says, and are delivered in order.
   *
   * What the listener returns, a promise's value too, answers the program where it asked; what it throws as well.
   *
   * @returns a function that removes the listener.
   * @throws SignalboxError `invalidArgument`
   */
  on<Body = unknown>(action: string, listener: (body: Body, info: SignalboxMessageInfo) => unknown): () => void;
}

interface SignalboxMessageHandler {
  /**
   * Sends `message` as the body of an action with the handler's name; an object with a member `action` is taken as
   * `{action, id, body}` instead. Never throws. The promise settles as that of `signalbox.call`, and need not be looked at.
   */
  postMessage<Reply = unknown>(message?: SignalboxJSON): Promise<Reply>;
}

declare const signalbox: Signalbox;

interface Window {
  readonly signalbox: Signalbox;
  readonly webkit: {
    /** In a headless page every name is a handler; in a web view those that the program's configuration names. */
    readonly messageHandlers: { readonly [name: string]: SignalboxMessageHandler };
  };
}
