// The baseline: JavaScriptCore with two native functions that copy the text out. Calls are answered immediately.
// usage: RawScriptEngine COUNT SCRIPT
import BareJavaScriptCore
import CPageCounter
import Foundation

guard CommandLine.arguments.count == 3, let count = Int(CommandLine.arguments[1]) else { exit(64) }
let script = try String(contentsOfFile: CommandLine.arguments[2], encoding: .utf8)

page_counter_begin(count)
page_counter_end_with_input()
let engine = BareEngine { text in
    guard let start = text.baseAddress else { return }
    if page_counter_take_text(start.assumingMemoryBound(to: CChar.self), text.count) { page_counter_print() }
}
engine.run(script)
while true { pause() }
