/// What libFuzzer calls before it reads its corpus: the seeds are put into the folder that the environment names.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<CInt>?,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>?
) -> CInt {
    SeedFolder.fill()
    return 0
}

/// What libFuzzer calls for each input: the first byte chooses the target, the rest is what it is given.
///
/// A trap is a finding; each invariant that does not hold traps.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: start, count: count)
    guard let first = input.first else { return 0 }
    FuzzTarget(selector: first).run(Array(input.dropFirst()))
    return 0
}
