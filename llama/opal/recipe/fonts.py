"""Copies fonts of Debian's packages into the folder fonts, with the letters of ASCII alone."""
import glob, os, subprocess, sys
FONTS = """LiberationSans-Regular LiberationSans-Bold LiberationSans-Italic LiberationSerif-Regular LiberationSerif-Bold LiberationSerif-Italic LiberationMono-Regular LiberationMono-Bold DejaVuSans DejaVuSans-Bold DejaVuSerif DejaVuSerif-Bold DejaVuSansMono DejaVuSansCondensed OpenSans-Regular OpenSans-Bold OpenSans-Light Lato-Regular Lato-Bold Lato-Italic Carlito-Regular Carlito-Bold Caladea-Regular Caladea-Bold Quicksand-Regular Quicksand-Bold Vollkorn-Regular FiraCode-Regular FreeSans FreeSerif FreeMono FreeSansBold Cabin-Regular Cabin-Bold ComicNeue-Regular ComicNeue-Bold EBGaramond12-Regular LiberationSansNarrow-Regular OpenSans-Semibold FreeSerifBold Vollkorn-Bold""".split()
os.makedirs('fonts', exist_ok=True)
for f in FONTS:
    found = [p for p in glob.glob('/usr/share/fonts/**/*.*tf', recursive=True) if os.path.basename(p).rsplit('.', 1)[0] == f]
    if not found: sys.exit(f'there is no {f}')
    subprocess.run([sys.executable, '-m', 'fontTools.subset', found[0], '--unicodes=U+0020-007E', '--output-file=fonts/' + os.path.basename(found[0]), '--layout-features=kern', '--hinting'], check=True)
